package relay

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"graylane/test/harness"
)

// Limits are answered so that the caller can read it, also one that does not stop sending.
func TestAHeadThatIsTooLargeIsAnswered(t *testing.T) {
	for limit, sizes := range map[string]map[int]string{
		"64KiB": {4 << 10: "200", 60 << 10: "200", 70 << 10: "431", 4 << 20: "431"}, // the default
		"8KiB":  {4 << 10: "200", 9 << 10: "431", 4 << 20: "431"},
		"1MiB":  {70 << 10: "200", 1000 << 10: "200", 1 << 20: "431"},
	} {
		c := newChain(t, "", "--max-head", limit)
		c.origin.plays(t, always(ok))
		for size, want := range sizes {
			t.Run(limit+" "+decimal(int64(size)), func(t *testing.T) {
				p := c.dial(t)
				go p.say("GET / HTTP/1.1⏎Host: shop⏎X-A: " + strings.Repeat("x", size) + "⏎⏎")
				if got := p.reply("GET"); statusOf(got) != want {
					t.Errorf("got %q, want %s", got, want)
				}
			})
		}
	}
}

// A20: over the operator's limit a body is too large, up to it it is not.
func TestABodyThatIsTooLargeIsAnswered(t *testing.T) {
	const limit = 4 << 20
	c := newChain(t, "", "--max-body", decimal(limit))
	c.origin.plays(t, always(ok))
	for size, want := range map[int64]string{limit - 1: "200", limit: "200", limit + 1: "413", 5_000_000: "413"} {
		body := strings.Repeat("b", int(size))
		for framing, message := range map[string]string{
			"length": "Content-Length: " + decimal(size) + "⏎⏎" + body,
			"chunks": "Transfer-Encoding: chunked⏎⏎" + hexadecimal(size) + "⏎" + body + "⏎0⏎⏎",
		} {
			t.Run(framing+" "+decimal(size), func(t *testing.T) {
				p := c.dial(t)
				go p.say("POST / HTTP/1.1⏎Host: shop⏎" + message)
				got := p.reply("POST")
				if statusOf(got) != want {
					t.Errorf("got %q, want %s", got, want)
				}
				if reason := strings.Join(values(got, "X-Graylane-Error"), ""); want == "413" && reason != "body_too_large" {
					t.Errorf("the reason is %q, want body_too_large", reason)
				}
			})
		}
	}
}

// One connection too many is told so; a place is free again when somebody leaves.
func TestTooManyConnectionsAreAnswered(t *testing.T) {
	c := newChain(t, "", "--max-connections", "3")
	c.origin.plays(t, always(ok))
	ask := func(p *peer) string {
		p.say("GET / HTTP/1.1⏎Host: shop⏎⏎")
		return p.reply("GET")
	}
	var callers []*peer
	for range 3 {
		p := c.dial(t)
		if got := ask(p); got != ok {
			t.Fatalf("got %q, want the reply", got)
		}
		callers = append(callers, p)
	}
	if got := ask(c.dial(t)); statusOf(got) != "503" || strings.Join(values(got, "X-Graylane-Error"), "") != "too_many_callers" {
		t.Errorf("got %q, want 503 for too_many_callers", got)
	}
	harness.Must(t, callers[0].Close())
	harness.WaitFor(t, "there is a place again", func() bool { return ask(c.dial(t)) == ok })
}

// Callers that send their head byte by byte meet a limit, whatever they send.
func TestASlowHeadMeetsALimit(t *testing.T) {
	const limit = time.Second
	c := newChain(t, "", "--head-timeout", limit.String())
	c.origin.plays(t, func(p *peer) { t.Errorf("the origin heard %q", p.head()) })
	harness.Once(t, func() error {
		p := c.dial(t)
		begin := time.Now()
		p.say("GET / HTTP/1.1⏎Host: shop⏎X-A: ")
		stop := make(chan struct{})
		go func() {
			tick := time.NewTicker(limit / 10)
			defer tick.Stop()
			for {
				select {
				case <-tick.C:
					p.say("x")
				case <-stop:
					return
				}
			}
		}()
		got := p.reply("GET")
		close(stop)
		if took := time.Since(begin); statusOf(got) != "408" || took < limit || took > limit+late {
			return fmt.Errorf("after %v: got %q, want 408 after %v", took, got, limit)
		}
		return nil
	})
}
