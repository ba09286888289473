package relay

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"graylane/test/harness"
)

// impatient is a chain whose near sidecar waits half a second for a reply to begin, and as long for bytes to move.
func impatient(t *testing.T) (c *chain, limit time.Duration) {
	t.Helper()
	c = newChain(t, "")
	c.timeouts = "header: 500ms, idle: 500ms"
	before := c.near.Policy(t).Digest
	c.obey(t, "")
	harness.WaitFor(t, "near takes the policy", func() bool { return c.near.Policy(t).Digest != before })
	return c, 500 * time.Millisecond
}

// late is how long after its limit a wait may end, on a loaded machine.
const late = 2 * time.Second

// An origin that does not begin its reply is asked once, and the caller is told.
func TestAReplyThatDoesNotBeginIs504Once(t *testing.T) {
	c, limit := impatient(t)
	for _, request := range []string{"GET / HTTP/1.1⏎Host: shop⏎⏎", "POST / HTTP/1.1⏎Host: shop⏎Content-Length: 3⏎⏎abc"} {
		t.Run(methodOf(request), func(t *testing.T) {
			harness.Once(t, func() error {
				var tries atomic.Int32
				gone := make(chan struct{}, 10)
				c.origin.plays(t, func(p *peer) {
					p.message()
					tries.Add(1)
					_, _ = p.rest()
					gone <- struct{}{}
				})
				p := c.dial(t)
				begin := time.Now()
				p.say(request)
				got := p.reply(methodOf(request))
				took := time.Since(begin)
				if statusOf(got) != "504" || strings.Join(values(got, "X-Graylane-Error"), "") != "header_timeout" {
					t.Errorf("got %q, want 504 for header_timeout", got)
				}
				await(t, gone)
				if n := tries.Load(); n != 1 {
					t.Errorf("the request was sent %d times", n)
				}
				if took < limit || took > limit+late {
					return fmt.Errorf("answered after %v, want %v", took, limit)
				}
				return nil
			})
		})
	}
}

// A reply may take as long as it likes while bytes of it come, and is cut when none do.
func TestTimeIsCountedFromTheLastByte(t *testing.T) {
	c, limit := impatient(t)
	const pieces = 8 // a piece every quarter of the limit: twice the limit in all
	c.origin.plays(t, func(p *peer) {
		p.message()
		p.say("HTTP/1.1 200 OK⏎Content-Length: 1000⏎⏎")
		for range pieces {
			<-time.After(limit / 4)
			p.say("x")
		}
		_, _ = p.rest()
	})
	harness.Once(t, func() error {
		p := c.dial(t)
		p.say("GET / HTTP/1.1⏎Host: shop⏎⏎")
		if got := p.head(); statusOf(got) != "200" {
			return fmt.Errorf("got %q, want 200", got)
		}
		if got := p.bytes(pieces); got != strings.Repeat("x", pieces) {
			return fmt.Errorf("got %q, want all pieces", got)
		}
		begin := time.Now()
		more, err := p.rest()
		took := time.Since(begin)
		if more != "" || isTimeout(err) {
			t.Errorf("after the last piece: %q, %v, want the end of the connection", more, err)
		}
		if took > limit+late {
			return fmt.Errorf("the end came %v after the last piece, want %v", took, limit)
		}
		return nil
	})
}

// An upload may take as long as it likes as well, also before the reply begins.
func TestAnUploadThatMovesIsNotLate(t *testing.T) {
	c, limit := impatient(t)
	c.origin.plays(t, always(ok))
	const pieces = 8
	harness.Once(t, func() error {
		p := c.dial(t)
		p.say("POST / HTTP/1.1⏎Host: shop⏎Content-Length: " + decimal(pieces) + "⏎⏎")
		for range pieces {
			<-time.After(limit / 4)
			p.say("x")
		}
		if got := p.reply("POST"); got != ok {
			return fmt.Errorf("got %q, want %q", got, ok)
		}
		return nil
	})
}

// What has been upgraded may be silent: WebSockets mostly are.
func TestAQuietTunnelLives(t *testing.T) {
	c, limit := impatient(t)
	c.origin.plays(t, func(p *peer) {
		if p.message() == "" {
			return
		}
		p.say(switched)
		p.say(p.bytes(4))
	})
	harness.Once(t, func() error {
		p := c.dial(t)
		p.say(upgrade)
		if got := p.head(); statusOf(got) != "101" {
			return fmt.Errorf("got %q, want 101", got)
		}
		<-time.After(2 * limit)
		p.say("late")
		if got := p.bytes(4); got != "late" {
			return fmt.Errorf("got %q, want late", got)
		}
		return nil
	})
}
