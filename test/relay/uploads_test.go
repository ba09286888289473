package relay

import (
	"io"
	"strings"
	"testing"

	"graylane/test/harness"
)

// A19: the first bytes of a body are at the origin before the rest exists, and an early reply at the caller before
// the body has ended.
func TestBodiesMoveBothWaysAtOnce(t *testing.T) {
	c := newChain(t, "")
	const post, early = "POST / HTTP/1.1⏎Host: shop⏎", "HTTP/1.1 200 OK⏎Transfer-Encoding: chunked⏎⏎5⏎early⏎"
	for name, tt := range map[string]struct{ head, first, rest string }{
		"a length": {post + "Content-Length: 20000⏎⏎", "abc", strings.Repeat("x", 19997)},
		"chunks":   {post + "Transfer-Encoding: chunked⏎⏎", "3⏎abc⏎", "4e1d⏎" + strings.Repeat("x", 19997) + "⏎0⏎⏎"},
	} {
		t.Run(name, func(t *testing.T) {
			c.origin.plays(t, func(p *peer) {
				for p.head() != "" {
					p.hears(tt.first)
					p.say(early)
					p.hears(tt.rest)
					p.say("4⏎late⏎0⏎⏎")
				}
			})
			p := c.dial(t)
			for range 3 {
				p.say(tt.head)
				p.say(tt.first)
				p.hears(early)
				p.say(tt.rest)
				p.hears("4⏎late⏎0⏎⏎")
			}
		})
	}
}

// A19: an origin that echoes what it gets, piece by piece.
func TestAnEchoIsAConversation(t *testing.T) {
	c := newChain(t, "")
	c.origin.plays(t, func(p *peer) {
		p.head()
		p.say("HTTP/1.1 200 OK⏎Transfer-Encoding: chunked⏎⏎")
		_, _ = io.Copy(p, p.r)
	})
	p := c.dial(t)
	p.say("POST / HTTP/1.1⏎Host: shop⏎Transfer-Encoding: chunked⏎⏎")
	p.hears("HTTP/1.1 200 OK⏎Transfer-Encoding: chunked⏎⏎")
	for range 100 {
		p.say("5⏎hello⏎")
		p.hears("5⏎hello⏎")
	}
	p.say("0⏎⏎")
	p.hears("0⏎⏎")
}

// A19: a whole early reply does not end the upload.
func TestAWholeEarlyReplyDoesNotEndTheUpload(t *testing.T) {
	c := newChain(t, "")
	whole := make(chan struct{})
	c.origin.plays(t, func(p *peer) {
		for p.head() != "" {
			p.hears("abc")
			p.say(ok)
			p.hears(strings.Repeat("x", 40000))
			whole <- struct{}{}
		}
	})
	p := c.dial(t)
	for range 2 {
		p.say("POST / HTTP/1.1⏎Host: shop⏎Content-Length: 40003⏎⏎abc")
		p.hears(ok)
		p.say(strings.Repeat("x", 40000))
		await(t, whole)
	}
}

// A19: what passes leaves no trace in memory.
func TestLargeBodiesPassInLittleMemory(t *testing.T) {
	const limit = 64 << 20
	size := int64(1 << 30)
	if harness.RaceEnabled {
		size >>= 4 // the race detector makes copying slow
	}
	t.Setenv("GOMEMLIMIT", "64MiB")
	c := newChain(t, "")
	c.origin.plays(t, func(p *peer) {
		for h := p.head(); h != ""; h = p.head() {
			p.giveTime(4 * harness.Patience)
			if length, _ := framing(h); length > 0 {
				n, _ := io.CopyN(io.Discard, p.r, length)
				if n == length {
					p.say(ok)
				}
				continue
			}
			p.say("HTTP/1.1 200 OK⏎Content-Length: " + decimal(size) + "⏎⏎")
			_, _ = io.CopyN(p, zeros{}, size)
		}
	})
	p := c.dial(t)
	p.giveTime(4 * harness.Patience)
	p.say("POST / HTTP/1.1⏎Host: shop⏎Content-Length: " + decimal(size) + "⏎⏎")
	if n, err := io.CopyN(p, zeros{}, size); n != size {
		t.Fatalf("%d bytes were taken: %v", n, err)
	}
	p.hears(ok)
	p.say("GET / HTTP/1.1⏎Host: shop⏎⏎")
	p.head()
	if n, err := io.CopyN(io.Discard, p.r, size); n != size {
		t.Fatalf("%d bytes came: %v", n, err)
	}
	for _, s := range []*harness.Sidecar{c.near, c.far} {
		peak := peakBytes(t, s)
		t.Logf("%s: %d MiB at most", s.Name, peak>>20)
		if peak > limit && !harness.RaceEnabled {
			t.Errorf("%s took %d bytes, want %d at most", s.Name, peak, limit)
		}
	}
}

// A20: without a limit of the operator's there is none.
func TestBodiesOfAnySizePass(t *testing.T) {
	c := newChain(t, "")
	for _, size := range []int64{1, 8 << 10, 64<<10 - 1, 64 << 10, 4 << 20, 4<<20 + 1, 5_000_000} {
		for _, chunked := range []bool{false, true} {
			t.Run(decimal(size), func(t *testing.T) {
				body := strings.Repeat("b", int(size))
				message := "Content-Length: " + decimal(size) + "⏎⏎" + body
				if chunked {
					message = "Transfer-Encoding: chunked⏎⏎" + hexadecimal(size) + "⏎" + body + "⏎0⏎⏎"
				}
				request, reply := "POST / HTTP/1.1⏎Host: shop⏎"+message, "HTTP/1.1 200 OK⏎"+message
				heard, got := c.ask(t, request, reply)
				if heard != request {
					t.Errorf("the origin heard %d bytes, want %d as they were", len(heard), len(request))
				}
				if got != reply {
					t.Errorf("the caller got %d bytes, want %d as they were", len(got), len(reply))
				}
			})
		}
	}
}

// zeros is a body without end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }
