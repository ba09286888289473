package http2

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"graylane/internal/http1"
)

// FuzzBridge sends requests of HTTP/1 to an origin of HTTP/2, which says back what it
// got. What is taken arrives equal, both ways; what is not, does not arrive.
func FuzzBridge(f *testing.F) {
	f.Add("GET", "/", "x", "1", "", false, 200)
	f.Add("POST", "//a/%2e/b?c=%20&d", "X-Dup", "a, b", "a body", false, 201)
	f.Add("PUT", "/?", "accept", "", strings.Repeat("b", 70<<10), true, 404)
	f.Add("DELETE", "http://users/\xc3\xa4", "Grpc-Timeout", "1S", "0\r\n\r\n", true, 204)
	f.Add("OPTIONS", "*", "b3", "\t \xff", "", false, 304)
	f.Add("GET", "/%zz?%", "Pragma", "no-cache", "", false, 200)
	f.Add("HEAD", "/a b", "x y", "a\nb: c", "", false, 500)
	var got arrived
	addr := addrOf(origin(f, func(w http.ResponseWriter, r *http.Request) {
		got.read(r)
		w.Header()["Content-Type"] = nil
		w.Header()["Echo"] = r.Header[http.CanonicalHeaderKey(got.want.name)]
		w.WriteHeader(got.want.status)
		_, _ = io.WriteString(w, got.body) // which some statuses have none of
	}))
	o := http1.NewOrigin(addr, NewOrigin(addr, http1.OriginConfig{}).HTTP1Config(http1.OriginConfig{}))
	at := serveHTTP1(f, func(x *http1.Exchange) {
		if err := x.Send(o); err != nil {
			x.Fail(err)
		}
	})
	f.Fuzz(func(t *testing.T, method, target, name, value, body string, chunked bool, status int) {
		if meaningful(name) || status < 200 || status > 599 || method == "CONNECT" {
			return
		}
		if strings.Contains(name, ":") || strings.Contains(method+"\n"+target+"\n"+name+"\n"+value, "\r\n") {
			return // another message than what it is compared with
		}
		got = arrived{want: sample{method: method, target: target, name: name, value: strings.Trim(value, " \t"), body: body, status: status}}
		conn, err := net.Dial("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(patience))
		go func() { _, _ = io.WriteString(conn, got.want.text(chunked)) }()
		resp, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
		if err != nil {
			t.Fatalf("%v for %q", err, got.want.text(chunked))
		}
		text, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if got.requests == 0 && (resp.StatusCode == http.StatusBadRequest || foreign(target)) {
			return // refused by us, or for its target by net/http at the origin
		}
		got.check(t)
		bodyless := method == "HEAD" || status == 204 || status == 304
		if err != nil || resp.StatusCode != status || string(text) != body && !bodyless || !slices.Equal(resp.Header["Echo"], []string{got.want.value}) {
			t.Errorf("got %d with %q and %q, %v, want %d with %q and %q", resp.StatusCode, text, resp.Header["Echo"], err, status, body, got.want.value)
		}
	})
}

// foreign is a target that net/http, as a server, resets the stream for.
func foreign(target string) bool {
	_, err := url.ParseRequestURI(target)
	return err != nil
}

// meaningful is a name that is not passed on as it is: of framing, or written by
// net/http in its own way.
func meaningful(name string) bool {
	switch strings.ToLower(name) {
	case "host", "content-length", "transfer-encoding", "connection", "keep-alive", "proxy-connection", "proxy-authorization",
		"upgrade", "te", "trailer", "expect", "http2-settings", "cookie", "user-agent":
		return true
	}
	return false
}

// sample is a request and the status of its reply.
type sample struct {
	method, target, name, value, body string
	status                            int
}

func (m *sample) text(chunked bool) string {
	head := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: users\r\nConnection: close\r\n%s: %s\r\n", m.method, m.target, m.name, m.value)
	switch {
	case chunked && m.body != "":
		return fmt.Sprintf("%sTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", head, len(m.body), m.body)
	case chunked:
		return head + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
	case m.body != "":
		return fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", head, len(m.body), m.body)
	}
	return head + "\r\n"
}

// arrived is what the origin got of a sample.
type arrived struct {
	want                       sample
	requests                   int
	method, target, host, body string
	values                     []string
}

func (a *arrived) read(r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	a.requests++
	a.method, a.target, a.host, a.body = r.Method, r.RequestURI, r.Host, string(body)
	a.values = r.Header[http.CanonicalHeaderKey(a.want.name)]
}

func (a *arrived) check(t *testing.T) {
	target, host := a.want.target, "users"
	if !strings.HasPrefix(target, "/") && target != "*" { // in absolute form
		_, rest, _ := strings.Cut(target, "//")
		at := len(rest)
		if i := strings.IndexAny(rest, "/?#"); i >= 0 {
			at = i
		}
		host, target = rest[:at], rest[at:]
		if i := strings.LastIndexByte(host, '@'); i >= 0 {
			host = host[i+1:]
		}
		if !strings.HasPrefix(target, "/") {
			target = "/" + target
		}
		if target == "/" && a.want.method == "OPTIONS" && at == len(rest) {
			target = "*"
		}
	}
	if a.requests != 1 || a.method != a.want.method || a.target != target || a.host != host || a.body != a.want.body || !slices.Equal(a.values, []string{a.want.value}) {
		t.Errorf("%d requests, the last %s %q at %s with %q and %q, want %+v once", a.requests, a.method, a.target, a.host, a.values, a.body, a.want)
	}
}
