package relay

import (
	"strings"
	"testing"
)

// A10: interim replies reach the caller before the final one exists.
func TestInterimRepliesArriveAtOnce(t *testing.T) {
	c := newChain(t, "")
	const processing, hints = "HTTP/1.1 102 Processing⏎⏎", "HTTP/1.1 103 Early Hints⏎Link: </a.css>; rel=preload⏎⏎"
	for _, interims := range [][]string{{hints}, {processing, processing}, {hints, processing, hints}} {
		t.Run(strings.Join(interims, ""), func(t *testing.T) {
			arrived := make(chan struct{})
			c.origin.plays(t, func(p *peer) {
				for p.message() != "" {
					for _, interim := range interims {
						p.say(interim)
						<-arrived
					}
					p.say(ok)
				}
			})
			p := c.dial(t)
			for range 2 {
				p.say("GET / HTTP/1.1⏎Host: shop⏎⏎")
				for _, interim := range interims {
					p.hears(interim)
					arrived <- struct{}{}
				}
				p.hears(ok)
			}
		})
	}
}

// A10: HTTP/1.0 knows no interim replies.
func TestInterimRepliesDoNotReachOldCallers(t *testing.T) {
	c := newChain(t, "")
	c.answers(t, "HTTP/1.1 103 Early Hints⏎Link: x⏎⏎HTTP/1.1 102 Processing⏎⏎"+ok)
	p := c.dial(t)
	p.say("GET / HTTP/1.0⏎Host: shop⏎⏎")
	if got := p.reply("GET"); !strings.HasPrefix(got, "HTTP/1.1 200 OK⏎") || !strings.HasSuffix(got, "⏎⏎ok") {
		t.Errorf("got %q, want the final reply alone", got)
	}
}

// A10: they do not come for ever.
func TestInterimRepliesWithoutEndAreAFaultOfTheOrigin(t *testing.T) {
	c := newChain(t, "")
	c.answers(t, strings.Repeat("HTTP/1.1 103 Early Hints⏎Link: x⏎⏎", 1000)+ok)
	p := c.dial(t)
	p.say("GET / HTTP/1.1⏎Host: shop⏎⏎")
	interims, got := 0, p.reply("GET")
	for ; statusOf(got) == "103"; got = p.reply("GET") {
		interims++
	}
	if statusOf(got) != "502" || interims > 100 {
		t.Errorf("got %d interim replies and %q, want 100 at most and 502", interims, got)
	}
}

const expecting = "POST / HTTP/1.1⏎Host: shop⏎Expect: 100-continue⏎Content-Length: 5⏎⏎"

// The origin alone decides about an expectation.
func TestTheOriginDecidesAboutAnExpectation(t *testing.T) {
	c := newChain(t, "")
	const proceed = "HTTP/1.1 100 Continue⏎⏎"
	c.origin.plays(t, func(p *peer) {
		for {
			head := p.head()
			if head == "" {
				return
			}
			if unmarked(head) != expecting {
				t.Errorf("the origin heard %q, want %q", unmarked(head), expecting)
			}
			p.say(proceed)
			p.hears("hello")
			p.say(ok)
		}
	})
	p := c.dial(t)
	for range 2 {
		p.say(expecting)
		p.hears(proceed)
		p.say("hello")
		p.hears(ok)
	}
}

// A caller that is refused may send the body or not: nobody can know what would come next, so the connection ends.
func TestARefusedExpectationEndsTheConnection(t *testing.T) {
	c := newChain(t, "")
	const refusal = "HTTP/1.1 417 Expectation Failed⏎Content-Length: 2⏎⏎no"
	c.origin.plays(t, func(p *peer) {
		p.head()
		p.say(refusal)
		if more, _ := p.rest(); more != "" {
			t.Errorf("the origin heard more: %q", more)
		}
	})
	p := c.dial(t)
	p.say(expecting)
	if got := p.reply("POST"); without(got, "Connection") != refusal || strings.Join(values(got, "Connection"), "") != "close" {
		t.Errorf("the caller got %q, want %q and the end", got, refusal)
	}
	p.ends()
}
