package relay

import (
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"graylane/test/harness"
)

// A15: a reply that breaks off breaks off for the caller too: no regular end, nothing of ours in the body, no second
// try.
func TestAnOriginThatDiesInMidReply(t *testing.T) {
	c := newChain(t, "")
	const fixed = "HTTP/1.1 200 OK⏎Content-Length: "
	for _, tt := range []struct {
		name, reply string
		reset       bool
	}{
		{"5 of 100 bytes", fixed + "100⏎⏎hello", false},
		{"no byte of 100", fixed + "100⏎⏎", false},
		{"30 000 of 100 000 bytes", fixed + "100000⏎⏎" + strings.Repeat("x", 30000), false},
		{"after a chunk", "HTTP/1.1 200 OK⏎Transfer-Encoding: chunked⏎⏎5⏎hello⏎", false},
		{"in a chunk", "HTTP/1.1 200 OK⏎Transfer-Encoding: chunked⏎⏎64⏎hello", false},
		{"in trailers", "HTTP/1.1 200 OK⏎Transfer-Encoding: chunked⏎⏎5⏎hello⏎0⏎X: y⏎", false},
		{"reset after 5 of 100 bytes", fixed + "100⏎⏎hello", true},
		{"reset where the end of the connection would be the end", "HTTP/1.1 200 OK⏎⏎hello", true},
	} {
		for _, method := range []string{"GET", "POST"} {
			t.Run(tt.name+" of "+method, func(t *testing.T) {
				arrived := make(chan struct{})
				var tries atomic.Int32
				c.origin.plays(t, func(p *peer) {
					p.message()
					tries.Add(1)
					p.say(tt.reply)
					<-arrived // a reset overtakes what was not read
					if tt.reset {
						harness.Must(t, p.Conn.(*net.TCPConn).SetLinger(0))
					}
				})
				p := c.dial(t)
				p.say(method + " / HTTP/1.1⏎Host: shop⏎Content-Length: 0⏎⏎")
				got := p.head()
				close(arrived)
				body, err := p.rest()
				_, want, _ := strings.Cut(tt.reply, "⏎⏎")
				if statusOf(got) != "200" || !strings.HasPrefix(want, body) {
					t.Errorf("got %q and %q, want the reply as far as it came", got, body)
				}
				if tt.reset && len(values(tt.reply, "Content-Length")) == 0 && err == nil {
					t.Errorf("got %q and a regular end, which looks like the whole", body)
				}
				if n := tries.Load(); n != 1 {
					t.Errorf("the request was sent %d times", n)
				}
			})
		}
	}
}

// A15: as long as nothing was passed on, there is a status for it; it tells nothing of what came.
func TestAnOriginThatDiesBeforeItsReply(t *testing.T) {
	c := newChain(t, "")
	for name, tt := range map[string]struct{ reply, reason string }{
		"without a word":         {"", "origin_closed"},
		"in the head":            {"HTTP/1.1 200 OK⏎X-Secret: s3cret⏎", "origin_closed"},
		"with something else":    {"s3cret banner⏎⏎", "bad_reply"},
		"with a broken head":     {"HTTP/1.1 200 OK⏎s3cret⏎⏎", "bad_reply"},
		"with two lengths":       {"HTTP/1.1 200 OK⏎Content-Length: 6⏎Content-Length: 7⏎⏎s3cret", "bad_reply"},
		"with length and chunks": {"HTTP/1.1 200 OK⏎Content-Length: 6⏎Transfer-Encoding: chunked⏎⏎6⏎s3cret⏎0⏎⏎", "bad_reply"},
		"with a broken chunk":    {"HTTP/1.1 200 OK⏎Transfer-Encoding: chunked⏎⏎s3cret⏎", "bad_reply"},
	} {
		t.Run(name, func(t *testing.T) {
			c.origin.plays(t, func(p *peer) {
				p.message()
				p.say(tt.reply)
			})
			p := c.dial(t)
			p.say("POST / HTTP/1.1⏎Host: shop⏎Content-Length: 0⏎⏎")
			got := p.reply("POST")
			if statusOf(got) != "502" || strings.Join(values(got, "X-Graylane-Error"), " ") != tt.reason {
				t.Errorf("got %q, want 502 for %s", got, tt.reason)
			}
			_, text, _ := strings.Cut(got, "⏎⏎")
			if strings.Contains(got, "s3cret") || strings.Count(text, "\n") != 1 {
				t.Errorf("got %q, want one line of text with nothing from the origin", got)
			}
		})
	}
}

// An app that is not there is a fault with a name.
func TestAnAppThatIsNotThere(t *testing.T) {
	c := newChain(t, "")
	harness.Must(t, c.origin.listener.Close())
	p := c.dial(t)
	for range 2 {
		p.say("GET / HTTP/1.1⏎Host: shop⏎⏎")
		got := p.reply("GET") // the callee's sidecar has said that it was not sent, and there is no other endpoint
		if statusOf(got) != "503" || strings.Join(values(got, "X-Graylane-Error"), " ") != "unavailable" || !strings.Contains(got, "connect_refused") {
			t.Errorf("got %q, want 503 for unavailable, since the connection was refused", got)
		}
	}
}
