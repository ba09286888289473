package relay

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"graylane/test/harness"
)

// A16: an event is at the caller before the next one exists.
func TestEventsArriveAtOnce(t *testing.T) {
	c := newChain(t, "")
	for _, kind := range []string{"text/event-stream", "application/x-ndjson", "application/octet-stream"} {
		for _, framing := range []struct{ head, first, second, end string }{
			{"Transfer-Encoding: chunked⏎", "9⏎data: 1\n\n⏎", "9⏎data: 2\n\n⏎", "0⏎⏎"},
			{"Content-Length: 20⏎", "data: 1\n\n", "data: 2\n\n", "."},
			{"", "data: 1\n\n", "data: 2\n\n", ""},
		} {
			t.Run(kind+" "+framing.head, func(t *testing.T) {
				head := "HTTP/1.1 200 OK⏎Content-Type: " + kind + "⏎" + framing.head
				arrived := make(chan struct{})
				c.origin.plays(t, func(p *peer) {
					p.message()
					p.say(head + "⏎")
					<-arrived
					p.say(framing.first)
					<-arrived
					p.say(framing.second)
					<-arrived
					p.say(framing.end)
				})
				p := c.dial(t)
				p.say("GET /events HTTP/1.1⏎Host: shop⏎⏎")
				begin := time.Now()
				if got := without(p.head(), "Connection"); got != head+"⏎" || time.Since(begin) > soon {
					t.Errorf("after %v: got %q, want %q", time.Since(begin), got, head)
				}
				arrived <- struct{}{}
				p.hears(framing.first)
				arrived <- struct{}{}
				p.hears(framing.second)
				arrived <- struct{}{}
				if framing.end != "" {
					p.hears(framing.end)
				}
			})
		}
	}
}

const (
	streams     = 600
	streamBytes = 64 << 10 // what a stream may cost, in each sidecar
)

// A16, A30: 600 event streams take no place from an ordinary request, and little memory.
func TestManyStreamsStarveNobody(t *testing.T) {
	c := newChain(t, "")
	c.origin.plays(t, func(p *peer) {
		if m := p.message(); strings.HasPrefix(m, "GET /events ") {
			p.say("HTTP/1.1 200 OK⏎Transfer-Encoding: chunked⏎⏎9⏎data: 1\n\n⏎")
			_, _ = p.rest()
			return
		}
		p.say(ok)
	})
	near, far := residentBytes(t, c.near), residentBytes(t, c.far)
	for i := range streams {
		p := c.dial(t)
		p.giveTime(harness.Patience)
		p.say("GET /events HTTP/1.1⏎Host: shop⏎⏎")
		if got, event := p.head(), p.bytes(14); statusOf(got) != "200" || event != "9⏎data: 1\n\n⏎" {
			t.Fatalf("stream %d: got %q and %q", i, got, event)
		}
	}
	p := c.dial(t)
	p.say("GET / HTTP/1.1⏎Host: shop⏎⏎")
	p.hears(ok)
	if harness.RaceEnabled {
		return // the race detector's own memory is many times that of the program
	}
	for _, s := range []struct {
		*harness.Sidecar
		before int64
	}{{c.near, near}, {c.far, far}} {
		grown := (residentBytes(t, s.Sidecar) - s.before) / streams
		t.Logf("%s: %d bytes a stream", s.Name, grown)
		if grown > streamBytes {
			t.Errorf("%s has grown by %d bytes a stream, want %d at most", s.Name, grown, streamBytes)
		}
	}
}

// A30: what the gray version is busy with does not concern base.
func TestAVersionFullOfStreamsStarvesNoOther(t *testing.T) {
	base, gray := listen(t), listen(t)
	base.plays(t, func(p *peer) { p.message(); p.say(ok) })
	gray.plays(t, func(p *peer) {
		p.message()
		p.say("HTTP/1.1 200 OK⏎⏎data: 1\n\n")
		_, _ = p.rest()
	})
	policy := harness.PolicyFile(t.TempDir() + "/policy.yaml")
	policy.Write(t, fmt.Sprintf(`apiVersion: graylane.dev/v1
services:
  - name: shop
    versions: [{tag: base, endpoints: [%q]}, {tag: gray, endpoints: [%q]}]
`, base.address(), gray.address()))
	near := harness.StartSidecar(t, "near", string(policy)).WaitReady(t)
	for range streams {
		p := dial(t, near.Outbound)
		p.say("GET / HTTP/1.1⏎Host: shop⏎X-Gray: gray⏎⏎")
		if got := p.head(); statusOf(got) != "200" {
			t.Fatalf("got %q, want a stream", got)
		}
	}
	p := dial(t, near.Outbound)
	p.say("GET / HTTP/1.1⏎Host: shop⏎⏎")
	p.hears(ok)
}

// A caller that leaves takes the origin's connection with it within a second, whatever is going on.
func TestACallerThatLeavesTakesTheOriginsConnectionWithIt(t *testing.T) {
	c := newChain(t, "")
	for name, tt := range map[string]struct{ request, reply string }{
		"waiting for a reply":            {"GET / HTTP/1.1⏎Host: shop⏎⏎", ""},
		"waiting, the request was POST":  {"POST / HTTP/1.1⏎Host: shop⏎Content-Length: 3⏎⏎abc", ""},
		"in mid reply":                   {"GET / HTTP/1.1⏎Host: shop⏎⏎", "HTTP/1.1 200 OK⏎Content-Length: 100⏎⏎x"},
		"in a stream":                    {"GET / HTTP/1.1⏎Host: shop⏎⏎", "HTTP/1.1 200 OK⏎Transfer-Encoding: chunked⏎⏎1⏎x⏎"},
		"in mid upload":                  {"POST / HTTP/1.1⏎Host: shop⏎Content-Length: 9⏎⏎abc", ""},
		"in mid upload, chunked":         {"POST / HTTP/1.1⏎Host: shop⏎Transfer-Encoding: chunked⏎⏎3⏎abc⏎", ""},
		"in mid upload, with half reply": {"POST / HTTP/1.1⏎Host: shop⏎Content-Length: 9⏎⏎abc", "HTTP/1.1 200 OK⏎Content-Length: 100⏎⏎x"},
	} {
		t.Run(name, func(t *testing.T) {
			harness.Once(t, func() error {
				heard, gone := make(chan struct{}), make(chan struct{})
				c.origin.plays(t, func(p *peer) {
					p.head()
					p.say(tt.reply)
					close(heard)
					_, _ = p.rest()
					close(gone)
				})
				p := c.dial(t)
				p.say(tt.request)
				<-heard
				p.hears(tt.reply)
				harness.Must(t, p.Close())
				took := await(t, gone)
				t.Logf("after %v", took.Round(time.Millisecond))
				if took > time.Second {
					return fmt.Errorf("the origin's connection ended after %v", took)
				}
				return nil
			})
		})
	}
}
