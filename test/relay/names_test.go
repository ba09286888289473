package relay

import (
	"strings"
	"testing"
)

const ok = "HTTP/1.1 200 OK⏎Content-Length: 2⏎⏎ok"

// A01, A02, A03, A07: a head arrives as it was written.
func TestHeadsArriveAsTheyWereWritten(t *testing.T) {
	c := newChain(t, "")
	const get = "GET /a HTTP/1.1⏎Host: shop⏎"
	for _, tt := range []struct{ name, request, reply string }{
		{"names of requests keep their case", get + "x-lower: 1⏎X-UPPER: 2⏎SOAPAction: x⏎⏎", ok},
		{"names of replies keep their case", get + "⏎", "HTTP/1.1 200 OK⏎etag: \"x\"⏎WWW-Authenticate: A⏎CONTENT-LENGTH: 0⏎⏎"},
		{"no reply gets a Content-Type", get + "⏎", ok},
		{"nor where it is empty", get + "⏎", "HTTP/1.1 200 OK⏎Content-Type:⏎Content-Length: 2⏎⏎ok"},
		{"nor a 204", get + "⏎", "HTTP/1.1 204 No Content⏎⏎"},
		{"nor a 304", get + "⏎", "HTTP/1.1 304 Not Modified⏎⏎"},
		{"no POST gets a Content-Type", "POST /a HTTP/1.1⏎Host: shop⏎Content-Length: 3⏎⏎abc", ok},
		{"nor a chunked one", "POST /a HTTP/1.1⏎Host: shop⏎Transfer-Encoding: chunked⏎⏎3⏎abc⏎0⏎⏎", ok},
		{"no DELETE gets a Content-Type or a length", "DELETE /a HTTP/1.1⏎Host: shop⏎⏎", ok},
		{"no reply gets a Date or a Server", get + "⏎", ok},
		{"a Date and a Server stay", get + "⏎", "HTTP/1.1 200 OK⏎Date: then⏎Server: theirs⏎Content-Length: 0⏎⏎"},
		{"an odd reason stays", get + "⏎", "HTTP/1.1 299 Fine, thanks: x⏎Content-Length: 0⏎⏎"},
		{"a Via or User-Agent is not added", get + "⏎", ok},
		{"duplicates of requests", get + "Cookie: a=1; b=2⏎X-Dup: a⏎Cookie: c=3⏎X-Dup: b⏎⏎", ok},
		{"spaces around values", get + "X-A:  a \t⏎X-B:b⏎X-C:⏎⏎", ok},
		{"bytes that are not ASCII", get + "X-A: \xe4\xf6 ü⏎⏎", "HTTP/1.1 200 OK⏎X-B: \xe4ü⏎Content-Length: 0⏎⏎"},
		{"the Host keeps its case and place", "GET /a HTTP/1.1⏎X-First: 1⏎hOST: ShOp⏎X-Last: 2⏎⏎", ok},
	} {
		t.Run(tt.name, func(t *testing.T) {
			heard, got := c.ask(t, tt.request, tt.reply)
			if heard != tt.request {
				t.Errorf("the origin heard\n got %q\nwant %q", heard, tt.request)
			}
			if got != tt.reply {
				t.Errorf("the caller got\n got %q\nwant %q", got, tt.reply)
			}
		})
	}
}

// A03: others may frame a GET with a body differently, so that it may be the last message on its connections.
func TestGETWithABodyGetsNoContentType(t *testing.T) {
	c := newChain(t, "")
	const request = "GET /a HTTP/1.1⏎Host: shop⏎Content-Length: 3⏎⏎abc"
	heard, got := c.ask(t, request, ok)
	if heard := without(heard, "Connection"); heard != request {
		t.Errorf("the origin heard %q, want %q", heard, request)
	}
	if got := without(got, "Connection"); got != ok {
		t.Errorf("the caller got %q, want %q", got, ok)
	}
}

// A07: the same for every status.
func TestRepliesKeepTheirDuplicates(t *testing.T) {
	c := newChain(t, "")
	const lines = "Set-Cookie: a=1; expires=Wed, 21 Oct 2026 07:28:00 GMT; Partitioned; Priority=High⏎WWW-Authenticate: A⏎" +
		"Set-Cookie: b⏎set-cookie: c=3; Path=/⏎WWW-Authenticate: Bearer realm=\"x, y\"⏎Content-Length: 2⏎⏎no"
	for _, status := range []string{"200 OK", "404 Not Found", "500 Internal Server Error", "503 Service Unavailable"} {
		t.Run(status, func(t *testing.T) {
			reply := "HTTP/1.1 " + status + "⏎" + lines
			if _, got := c.ask(t, "GET / HTTP/1.1⏎Host: shop⏎⏎", reply); got != reply {
				t.Errorf("the caller got\n got %q\nwant %q", got, reply)
			}
		})
	}
}

// A01, A07: rules read names in any case, and cookies without changing them.
func TestReadingForRoutingChangesNothing(t *testing.T) {
	c := newChain(t, `
rules:
  - {name: by-header, tag: gray, matches: [{headers: [{name: X-User, value: "7"}]}]}
  - {name: by-cookie, tag: gray, matches: [{cookies: [{name: uid, value: "7"}]}]}
`)
	for _, tt := range []struct{ lines, tag string }{
		{"x-gray: gray⏎", "gray"},
		{"X-GRAY: gray⏎", "gray"},
		{"x-uSER: 7⏎", "gray"},
		{"x-uSER: 8⏎", "base"},
		{"Cookie: a=1⏎cookie: uid=7; b=\"2\" ; c⏎", "gray"},
		{"Cookie: a=1⏎Cookie: uid=8; b=\"2\" ; c⏎", "base"},
	} {
		t.Run(tt.lines, func(t *testing.T) {
			request := "GET / HTTP/1.1⏎Host: shop⏎" + tt.lines + "⏎"
			messages := c.answers(t, ok)
			p := c.dial(t)
			p.say(request)
			p.hears(ok)
			heard := <-messages
			if tags := values(heard, "X-Gray"); len(tags) != 1 || tags[0] != tt.tag {
				t.Errorf("X-Gray at the origin is %q, want %q once", tags, tt.tag)
			}
			if got, want := unmarked(heard), unmarked(request); got != want {
				t.Errorf("the origin heard\n got %q\nwant %q", got, want)
			}
			if n := strings.Count(strings.ToLower(heard), "cookie:"); n != strings.Count(strings.ToLower(request), "cookie:") {
				t.Errorf("%d cookie lines at the origin", n)
			}
		})
	}
}
