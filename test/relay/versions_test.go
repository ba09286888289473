package relay

import (
	"strings"
	"testing"
)

// A14: callers that speak HTTP/1.0 get what they understand.
func TestOldCallers(t *testing.T) {
	c := newChain(t, "")
	const chunked = "HTTP/1.1 200 OK⏎Transfer-Encoding: chunked⏎⏎3⏎abc⏎2⏎de⏎0⏎⏎"
	for _, tt := range []struct{ name, lines, reply, body, connection string }{
		{"a length", "", ok, "ok", "close"},
		{"a length, keep-alive", "Connection: keep-alive⏎", ok, "ok", "keep-alive"},
		{"chunks are taken apart", "", chunked, "abcde", "close"},
		{"chunks cannot be kept alive", "Connection: Keep-Alive⏎", chunked, "abcde", "close"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			heard, got := c.ask(t, "GET /a HTTP/1.0⏎Host: shop⏎"+tt.lines+"⏎", tt.reply)
			if want := "GET /a HTTP/1.1⏎Host: shop⏎⏎"; heard != want {
				t.Errorf("the origin heard %q, want %q", heard, want)
			}
			_, body, _ := strings.Cut(got, "⏎⏎")
			if statusOf(got) != "200" || body != tt.body || len(values(got, "Transfer-Encoding")) > 0 {
				t.Errorf("got %q, want the body %q, not chunked", got, tt.body)
			}
			if got := strings.Join(values(got, "Connection"), ", "); got != tt.connection {
				t.Errorf("Connection is %q, want %q", got, tt.connection)
			}
		})
	}
}

// A14: as `ab -n 100 -k` does it.
func TestOldCallersKeepTheirConnection(t *testing.T) {
	c := newChain(t, "")
	c.origin.plays(t, always(ok))
	p := c.dial(t)
	for i := range 100 {
		p.say("GET / HTTP/1.0⏎Connection: Keep-Alive⏎Host: shop⏎User-Agent: ApacheBench/2.3⏎Accept: */*⏎⏎")
		if got := p.reply("GET"); statusOf(got) != "200" || !strings.HasSuffix(got, "⏎⏎ok") {
			t.Fatalf("request %d: got %q", i, got)
		}
	}
	if n := c.origin.connections(); n != 1 {
		t.Errorf("%d connections to the origin, want 1", n)
	}
}

// A14: without a Host an inbound call goes to the app all the same; an outbound one names nobody, and is told so.
func TestNoHostInHTTP10(t *testing.T) {
	c := newChain(t, "")
	messages := c.answers(t, ok)
	p := dial(t, c.far.Inbound)
	p.say("GET /a HTTP/1.0⏎⏎")
	if got := p.reply("GET"); statusOf(got) != "200" {
		t.Errorf("inbound: got %q, want 200", got)
	}
	if heard := <-messages; len(values(heard, "Host")) != 1 || !strings.HasPrefix(heard, "GET /a HTTP/1.1⏎") {
		t.Errorf("the app heard %q, want HTTP/1.1 with one Host", heard)
	}
	p = c.dial(t)
	p.say("GET /a HTTP/1.0⏎⏎")
	if got := p.reply("GET"); statusOf(got) != "400" || strings.Join(values(got, "X-Graylane-Error"), "") != "no_host" {
		t.Errorf("outbound: got %q, want 400 for no_host", got)
	}
}

// A32: each hop speaks its own version.
func TestVersionsAreThoseOfTheHop(t *testing.T) {
	c := newChain(t, "")
	heard, got := c.ask(t, "GET /a HTTP/1.2⏎Host: shop⏎⏎", "HTTP/1.0 200 Fine⏎Content-Length: 2⏎⏎ok")
	if want := "GET /a HTTP/1.1⏎Host: shop⏎⏎"; heard != want {
		t.Errorf("the origin heard %q, want %q", heard, want)
	}
	if want := "HTTP/1.1 200 Fine⏎Content-Length: 2⏎⏎ok"; got != want {
		t.Errorf("the caller got %q, want %q", got, want)
	}
	p := c.dial(t)
	c.origin.plays(t, func(p *peer) { p.head(); p.say("HTTP/1.0 200 OK⏎⏎to the end") })
	p.say("GET /a HTTP/1.1⏎Host: shop⏎⏎")
	if got := p.reply("GET"); !strings.HasPrefix(got, "HTTP/1.1 200 OK⏎") || !strings.HasSuffix(got, "⏎⏎to the end") {
		t.Errorf("a reply of HTTP/1.0 that ends with its connection: got %q", got)
	}
}

// A32: HTTP/2 in text, and what there never was.
func TestUnknownVersionsAreRefused(t *testing.T) {
	c := newChain(t, "")
	c.origin.plays(t, func(p *peer) { t.Errorf("the origin heard %q", p.head()) })
	for _, line := range []string{"GET / HTTP/2.0", "GET / HTTP/2", "GET / HTTP/0.9", "GET / HTTP/3.0", "GET / HTTP/11.1", "GET / HTTP/1.10", "GET /"} {
		t.Run(line, func(t *testing.T) {
			p := c.dial(t)
			p.say(line + "⏎Host: shop⏎⏎")
			got, err := p.rest()
			if status := statusOf(got); status != "505" && status != "400" || err != nil {
				t.Errorf("got %q, %v, want 505 or 400 and the end", got, err)
			}
		})
	}
}
