package http1

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"graylane/test/harness"
)

func TestTimeLimits(t *testing.T) {
	const short = 300 * time.Millisecond
	tests := map[string]struct {
		cfg    Config
		origin OriginConfig
		say    string
		play   func(c *peer)
		want   string // the beginning of what the caller gets; "" for an end without a word
	}{
		"no request":             {cfg: Config{KeepAlive: short}, want: ""},
		"half a head":            {cfg: Config{HeadTimeout: short}, say: "GET / HTTP/1.1⏎Host", want: "HTTP/1.1 408 "},
		"half a body":            {origin: OriginConfig{Idle: short}, say: "POST / HTTP/1.1⏎Host: h⏎Content-Length: 9⏎⏎abc", play: func(c *peer) { c.rest() }, want: "HTTP/1.1 408 "},
		"no reply":               {origin: OriginConfig{Header: short}, say: "GET / HTTP/1.1⏎Host: h⏎⏎", play: func(c *peer) { c.rest() }, want: "HTTP/1.1 504 "},
		"no reply to an upload":  {origin: OriginConfig{Header: short}, say: "POST / HTTP/1.1⏎Host: h⏎Content-Length: 20000⏎⏎" + strings.Repeat("x", 20000), play: func(c *peer) { c.rest() }, want: "HTTP/1.1 504 "},
		"half a head of a reply": {origin: OriginConfig{Header: short}, say: "GET / HTTP/1.1⏎Host: h⏎⏎", play: func(c *peer) { c.head(); c.say("HTTP/1.1 200 OK⏎"); c.rest() }, want: "HTTP/1.1 504 "},
		"half a reply":           {origin: OriginConfig{Idle: short}, say: "GET / HTTP/1.1⏎Host: h⏎⏎", play: func(c *peer) { c.head(); c.say("HTTP/1.1 200 OK⏎Content-Length: 5⏎⏎abc"); c.rest() }, want: "HTTP/1.1 200 OK⏎Content-Length: 5⏎⏎abc"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tt.play == nil {
				tt.play = func(c *peer) { t.Error("the origin was asked") }
			}
			addr := between(t, tt.cfg, tt.origin, tt.play)
			harness.Once(t, func() error {
				c := dial(t, addr)
				start := time.Now()
				c.say(tt.say)
				got := c.head() // the connection may go on after a 504
				if !strings.HasPrefix(got, "HTTP/1.1 504 ") {
					more, _ := c.rest()
					got += more
				}
				took := time.Since(start)
				if !strings.HasPrefix(got, tt.want) || tt.want == "" && got != "" {
					t.Errorf("got %q, want %q", got, tt.want)
				}
				if strings.Count(got, "HTTP/1.1 ") > 1 {
					t.Errorf("got %q, want one reply", got)
				}
				if took < short {
					t.Errorf("ended after %v, want after %v", took, short)
				}
				if took > short+6*tick {
					return fmt.Errorf("ended after %v, want after %v", took, short)
				}
				return nil
			})
		})
	}
}

func TestAStreamThatMovesIsNotLate(t *testing.T) {
	t.Parallel()
	const short = time.Second
	addr := between(t, Config{HeadTimeout: short, KeepAlive: short}, OriginConfig{Header: short, Idle: short}, func(c *peer) {
		c.head()
		c.say("HTTP/1.1 200 OK⏎Content-Length: 10⏎⏎")
		for i := range 10 {
			c.say(string(rune('0' + i)))
			<-time.After(short / 5)
		}
	})
	harness.Once(t, func() error {
		c := dial(t, addr)
		c.say("GET / HTTP/1.1⏎Host: h⏎⏎")
		c.head()
		if got, want := c.bytes(10), "0123456789"; got != want {
			return fmt.Errorf("got %q, want %q", got, want)
		}
		return nil
	})
}

func TestSlowHeadsMeetADeadlineHoweverOftenBytesCome(t *testing.T) {
	const short = 300 * time.Millisecond
	addr := between(t, Config{HeadTimeout: short}, OriginConfig{}, func(c *peer) { t.Error("the origin was asked") })
	harness.Once(t, func() error {
		c := dial(t, addr)
		start := time.Now()
		go func() {
			for range 100 {
				if _, err := c.Write([]byte("G")); err != nil {
					return
				}
				<-time.After(short / 10)
			}
		}()
		got := c.head()
		if took := time.Since(start); !strings.HasPrefix(got, "HTTP/1.1 408 ") || took > short+6*tick {
			return fmt.Errorf("got %q after %v, want 408 after %v", got, took, short)
		}
		return nil
	})
}

func TestLimitsConnections(t *testing.T) {
	reasons := make(chan string, 1)
	o := NewOrigin(listen(t, answer("HTTP/1.1 204 No Content⏎⏎")), OriginConfig{})
	s, addr := serve(t, Config{MaxConns: 2, Refused: func(status int, reason string) { reasons <- reason }}, sendTo(o))
	first, second := dial(t, addr), dial(t, addr)
	for _, c := range []*peer{first, second} {
		c.say("GET / HTTP/1.1⏎Host: h⏎⏎")
		c.head()
	}
	c := dial(t, addr)
	if got, _ := c.rest(); !strings.HasPrefix(got, "HTTP/1.1 503 ") || !strings.Contains(got, "too_many_callers") {
		t.Errorf("the third: got %q, want 503", got)
	}
	if got := <-reasons; got != TooManyConns {
		t.Errorf("Refused heard %q, want %q", got, TooManyConns)
	}
	_, _ = first.Close(), c.Close()
	harness.WaitFor(t, "a place is free", func() bool { return s.Conns() < 2 })
	c = dial(t, addr)
	c.say("GET / HTTP/1.1⏎Host: h⏎⏎")
	if got := c.head(); !strings.HasPrefix(got, "HTTP/1.1 204 ") {
		t.Errorf("after one has left: got %q, want 204", got)
	}
}

// Whoever can connect can begin heads: ten thousand of them must not take the memory of a pod.
func TestUnfinishedHeadsTakeLittleMemory(t *testing.T) {
	const callers, most = 200, 6 << 10 // bytes of the heap for each caller, with both ends of the connection
	s, addr := serve(t, Config{HeadTimeout: -1}, handlerFunc(func(x *Exchange) { x.Reply(204, "", "") }))
	used := func() int64 {
		runtime.GC()
		runtime.GC() // what pools hold goes with the second
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	conns := make([]*peer, callers)
	for i := range conns {
		conns[i] = dial(t, addr)
	}
	before := used()
	for _, c := range conns {
		c.say("GET / HTTP/1.1⏎Host: h⏎X: " + strings.Repeat("x", 1<<10))
	}
	got := int64(1 << 30)
	for end := time.Now().Add(patient); time.Now().Before(end) && (s.Active() < callers || got > most); {
		got = (used() - before) / callers
	}
	if n := s.Active(); n != callers || got > most {
		t.Errorf("%d unfinished heads of 1 KiB take %d bytes each, want %d of them and at most %d", n, got, callers, most)
	}
	for i, c := range conns {
		c.say("⏎Y: " + strings.Repeat("y", i*100) + "⏎⏎")
		if got := c.head(); !strings.HasPrefix(got, "HTTP/1.1 204 ") {
			t.Errorf("got %q for a head of %d bytes, want 204", got, 1<<10+i*100)
		}
	}
}
