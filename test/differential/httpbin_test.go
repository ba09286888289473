package differential

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mccutchen/go-httpbin/v2/httpbin"
)

func request(method, target, lines, body string) string {
	return method + " " + target + " HTTP/1.1⏎Host: shop⏎User-Agent: test/1.0⏎Connection: close⏎" + lines + "⏎" + body
}

func get(target string) question { return question{name: target, text: request("GET", target, "", "")} }

func getWith(target, lines string) question {
	return question{name: target + " " + lines, text: request("GET", target, lines, "")}
}

func send(method, target, lines, body string) question {
	lines += fmt.Sprintf("Content-Length: %d⏎", len(body))
	return question{name: method + " " + target + " " + lines, text: request(method, target, lines, body)}
}

func (q question) tells() question { q.echo = true; return q }

func (q question) tellsInItsOwnForm() question { q.own = true; return q }

func TestHttpbinAnswersTheSame(t *testing.T) {
	server := httptest.NewServer(httpbin.New())
	t.Cleanup(server.Close)
	p := newPair(t, server.Listener.Addr().String())

	chunked := request("POST", "/anything", "Transfer-Encoding: chunked⏎Trailer: X-T⏎", "5⏎hello⏎6;x=y⏎ world⏎0⏎X-T: 1⏎⏎")
	const multipart = "--b\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a.txt\"\r\n\r\nfile\r\n--b--\r\n"
	questions := []question{
		get("/get?a=b&a=c%20d&e").tells(),
		get("/anything/%41%2Fb//c?x=%20+&y=a//b"), get("/anything/%41;v=1?x=%20+&y=a//b").tells(),
		getWith("/headers", "X-Dup: a⏎x-dup: b⏎Cookie: a=1⏎Cookie: b=2⏎X-Empty:⏎Accept: */*⏎").tells(),
		getWith("/get", "X-Gray: gray⏎baggage: a=b⏎traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01⏎").tells(),
		getWith("/get", "Keep-Alive: timeout=5⏎Proxy-Authorization: Basic x⏎TE: gzip⏎").tells(),
		send("POST", "/post", "Content-Type: application/x-www-form-urlencoded⏎", "a=b&c=%20d").tells(),
		send("POST", "/post", "Content-Type: application/json⏎", `{"a": ["b", 1]}`).tells(),
		send("POST", "/post", "Content-Type: multipart/form-data; boundary=b⏎", multipart).tells(),
		send("POST", "/post", "", "").tells(),
		send("PUT", "/put", "Content-Type: application/octet-stream⏎", strings.Repeat("x", 200_000)).tells(),
		send("PATCH", "/patch", "Content-Type: text/plain⏎", "abc").tells(),
		question{name: "DELETE", text: request("DELETE", "/delete", "", "")}.tells(),
		question{name: "chunks", text: chunked}.tells(),
		{name: "HEAD", text: request("HEAD", "/head", "", "")},
		{name: "OPTIONS", text: request("OPTIONS", "/get", "Origin: http://a⏎Access-Control-Request-Method: PUT⏎", "")},
		question{name: "an expectation", text: request("POST", "/upload", "Expect: 100-continue⏎Content-Length: 5⏎", "hello")}.tellsInItsOwnForm(),
		get("/jsonl?count=3").tellsInItsOwnForm(), get("/sse?count=3&duration=0.1").tellsInItsOwnForm(), get("/cache/60").tells(),
		get("/trailers?X-A=1").tellsInItsOwnForm(), get("/delay/0.1").tells(),
		getWith("/range/1000", "Range: bytes=10-99⏎"), getWith("/range/1000", "Range: bytes=5000-⏎"),
		getWith("/etag/abc", "If-None-Match: \"abc\"⏎"), getWith("/cache", "If-Modified-Since: Wed, 21 Oct 2015 07:28:00 GMT⏎"),
		getWith("/gzip", "Accept-Encoding: gzip⏎").tellsInItsOwnForm(), get("/deflate").tellsInItsOwnForm(),
		getWith("/basic-auth/u/p", "Authorization: Basic dTpw⏎"), getWith("/image", "Accept: image/webp⏎"),
		get("/no/such/page"), send("POST", "/get", "", "abc"),
	}
	for _, target := range []string{
		"/", "/html", "/json", "/xml", "/robots.txt", "/deny", "/encoding/utf8", "/image/png", "/base64/aGVsbG8=",
		"/bytes/70000?seed=1", "/stream-bytes/300000?seed=1&chunk_size=7777", "/stream-bytes/0?seed=1",
		"/drip?numbytes=5&duration=0.2",
		"/redirect/3", "/relative-redirect/2", "/absolute-redirect/2", "/redirect-to?url=http%3A%2F%2Fa%2F&status_code=307",
		"/cookies/set?a=1", "/cookies/delete?a", "/response-headers?X-A=1&X-A=2&x-b=3", "/links/3",
		"/basic-auth/u/p", "/hidden-basic-auth/u/p", "/bearer",
		"/status/200", "/status/202", "/status/204", "/status/205", "/status/301", "/status/304", "/status/400", "/status/401",
		"/status/404", "/status/418", "/status/429", "/status/500", "/status/503", "/status/599",
	} {
		questions = append(questions, get(target))
	}
	for _, q := range questions {
		t.Run(q.name, func(t *testing.T) { p.compare(t, q) })
	}
}
