package relay

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A22: an origin that closes connections while requests are on their way to it costs nobody a request, and none is
// executed twice.
func TestTheIdleRaceLosesAndRepeatsNothing(t *testing.T) {
	const (
		clients, each = 25, 40 // 1 000 POSTs
		keeps         = 100 * time.Millisecond
		shortest      = 20 * time.Millisecond
		longest       = 120 * time.Millisecond
	)
	c := newChain(t, "")
	var mu sync.Mutex
	executed := map[string]int{}
	var lost atomic.Int32
	c.origin.plays(t, func(p *peer) {
		for m := p.message(); m != ""; m = p.message() {
			_, id, _ := strings.Cut(m, "⏎⏎")
			mu.Lock()
			executed[id]++
			mu.Unlock()
			p.say(ok)
			if !p.getsSomething(keeps) {
				if p.hangsUp() {
					lost.Add(1)
				}
				return
			}
		}
	})
	failed := make(chan string, clients*each)
	var work sync.WaitGroup
	for client := range clients {
		work.Go(func() {
			p := c.dial(t)
			for i := range each {
				id := fmt.Sprintf("%04d", client*each+i)
				p.say("POST / HTTP/1.1⏎Host: shop⏎Content-Length: 4⏎⏎" + id)
				if got := p.reply("POST"); got != ok {
					failed <- id + " got " + got
				}
				<-time.After(shortest + rand.N(longest-shortest)) // the race needs callers that come back at any time
			}
		})
	}
	work.Wait()
	if got, want := len(failed), int(lost.Load()); got != want {
		t.Errorf("%d POSTs failed, such as %q, want the %d that the origin had and did not answer", got, <-failed, want)
	}
	if got, want := len(executed), clients*each-int(lost.Load()); got != want {
		t.Errorf("%d POSTs were executed, want %d", got, want)
	}
	for id, n := range executed {
		if n != 1 {
			t.Errorf("POST %s was executed %d times", id, n)
		}
	}
	if n := c.origin.connections(); n < each/2 {
		t.Errorf("%d connections to the origin: there was no race", n)
	}
}

const retries = 1 // how often an idempotent request is sent again, by default

// A23: an origin that takes a request and closes without a reply may have acted on it.
func TestHowOftenARequestIsSent(t *testing.T) {
	c := newChain(t, "")
	for _, tt := range []struct {
		name, request string
		most          int32
	}{
		{"GET", "GET / HTTP/1.1⏎Host: shop⏎⏎", 1 + retries},
		{"PUT", "PUT / HTTP/1.1⏎Host: shop⏎Content-Length: 3⏎⏎abc", 1 + retries},
		{"POST", "POST / HTTP/1.1⏎Host: shop⏎Content-Length: 3⏎⏎abc", 1},
		{"POST without a body", "POST / HTTP/1.1⏎Host: shop⏎Content-Length: 0⏎⏎", 1},
		{"POST with a key", "POST / HTTP/1.1⏎Host: shop⏎Idempotency-Key: k⏎Content-Length: 3⏎⏎abc", 1},
		{"PATCH", "PATCH / HTTP/1.1⏎Host: shop⏎Content-Length: 3⏎⏎abc", 1},
		{"a method of its own", "PAY / HTTP/1.1⏎Host: shop⏎⏎", 1},
	} {
		for _, kept := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, on a kept connection: %v", tt.name, kept), func(t *testing.T) {
				var sent atomic.Int32
				c.origin.plays(t, func(p *peer) {
					for m := p.message(); m != ""; m = p.message() {
						if !strings.HasPrefix(m, "GET /first ") {
							sent.Add(1)
							return
						}
						p.say(ok)
					}
				})
				p := c.dial(t)
				if kept {
					p.say("GET /first HTTP/1.1⏎Host: shop⏎⏎")
					p.hears(ok)
				}
				p.say(tt.request)
				got := p.reply(methodOf(tt.request))
				if statusOf(got) != "502" || strings.Join(values(got, "X-Graylane-Error"), " ") != "origin_closed" {
					t.Errorf("got %q, want 502 for origin_closed", got)
				}
				if n := sent.Load(); n < 1 || n > tt.most {
					t.Errorf("the request was sent %d times, want 1 to %d", n, tt.most)
				}
			})
		}
	}
}

// A23: a body that was not kept cannot be sent again, and half of it never is.
func TestAStreamedBodyIsNeverSentAgain(t *testing.T) {
	c := newChain(t, "")
	for name, tt := range map[string]struct{ head, first, rest string }{
		"a length": {"Content-Length: 40003⏎⏎", "abc", strings.Repeat("x", 40000)},
		"chunks":   {"Transfer-Encoding: chunked⏎⏎", "3⏎abc⏎", "3⏎def⏎0⏎⏎"},
	} {
		t.Run(name, func(t *testing.T) {
			half := make(chan struct{})
			var sent atomic.Int32
			c.origin.plays(t, func(p *peer) {
				p.head()
				p.hears(tt.first)
				if sent.Add(1) == 1 {
					close(half)
				}
			})
			p := c.dial(t)
			p.say("PUT / HTTP/1.1⏎Host: shop⏎" + tt.head + tt.first)
			<-half
			p.say(tt.rest)
			if got := p.reply("PUT"); statusOf(got) != "502" {
				t.Errorf("got %q, want 502", got)
			}
			if n := sent.Load(); n != 1 {
				t.Errorf("the request was sent %d times, want once", n)
			}
		})
	}
}

// A23: a reply is a reply, whatever it says.
func TestA503IsPassedOn(t *testing.T) {
	c := newChain(t, "")
	const busy = "HTTP/1.1 503 Busy⏎Retry-After: 1⏎Content-Length: 2⏎⏎no"
	for _, method := range []string{"GET", "POST"} {
		messages := c.answers(t, busy)
		p := c.dial(t)
		p.say(method + " / HTTP/1.1⏎Host: shop⏎Content-Length: 0⏎⏎")
		p.hears(busy)
		if n := len(messages); n != 1 {
			t.Errorf("%s was sent %d times, want once", method, n)
		}
	}
}

// A34: bytes after a reply belong to nobody.
func TestStrayBytesAreNeverAReply(t *testing.T) {
	c := newChain(t, "")
	const stray = "HTTP/1.1 200 OK⏎Content-Length: 5⏎⏎stray"
	for name, later := range map[string]bool{"at once": false, "later": true} {
		t.Run(name, func(t *testing.T) {
			arrived, said := make(chan struct{}), make(chan struct{})
			c.origin.plays(t, func(p *peer) {
				p.message()
				if later {
					p.say(ok)
					<-arrived
					p.say(stray)
				} else {
					p.say(ok + stray)
					<-arrived
				}
				said <- struct{}{}
				if more, _ := p.rest(); more != "" {
					t.Errorf("a connection with stray bytes is used again, for %q", more)
				}
			})
			for range 3 {
				p := c.dial(t)
				p.say("GET / HTTP/1.1⏎Host: shop⏎⏎")
				p.hears(ok)
				arrived <- struct{}{}
				<-said
			}
		})
	}
}
