package http1

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"graylane/test/harness"
)

func TestKeepsConnectionsAndDropsOldOnes(t *testing.T) {
	var conns atomic.Int64
	play := func(keepAlive string) func(c *peer) {
		return func(c *peer) {
			conns.Add(1)
			for c.message() != "" {
				c.say("HTTP/1.1 200 OK⏎" + keepAlive + "Content-Length: 0⏎⏎")
			}
		}
	}
	ask := func(c *peer) {
		t.Helper()
		c.say("GET / HTTP/1.1⏎Host: h⏎⏎")
		if got := c.head(); !strings.HasPrefix(got, "HTTP/1.1 200") {
			t.Errorf("got %q, want 200", got)
		}
	}
	for name, tt := range map[string]struct {
		cfg       OriginConfig
		keepAlive string
		gone      bool // before it is needed again
		want      int64
	}{
		"kept":                     {OriginConfig{}, "", false, 1},
		"none are to be kept":      {OriginConfig{MaxIdle: -1}, "", true, 2},
		"older than allowed":       {OriginConfig{Keep: 10 * time.Millisecond}, "", true, 2},
		"the origin keeps it long": {OriginConfig{}, "Keep-Alive: timeout=60⏎", false, 1},
	} {
		t.Run(name, func(t *testing.T) {
			conns.Store(0)
			o := NewOrigin(listen(t, play(tt.keepAlive)), tt.cfg)
			t.Cleanup(o.Close)
			server, addr := serve(t, Config{}, sendTo(o))
			c := dial(t, addr)
			ask(c)
			harness.WaitFor(t, "the connection is kept, or gone", func() bool {
				o.mu.Lock()
				defer o.mu.Unlock()
				return server.Active() == 0 && (len(o.idle) == 0) == tt.gone
			})
			ask(c)
			if got := conns.Load(); got != tt.want {
				t.Errorf("%d connections were made, want %d", got, tt.want)
			}
		})
	}
}

func TestLeavesBeforeTheOriginDoes(t *testing.T) {
	o := NewOrigin(listen(t, answer("HTTP/1.1 200 OK⏎Keep-Alive: timeout=5⏎Content-Length: 0⏎⏎")), OriginConfig{})
	t.Cleanup(o.Close)
	_, addr := serve(t, Config{}, sendTo(o))
	c := dial(t, addr)
	c.say("GET / HTTP/1.1⏎Host: h⏎⏎")
	c.head()
	var most time.Duration
	harness.WaitFor(t, "the connection is kept", func() bool {
		o.mu.Lock()
		defer o.mu.Unlock()
		if len(o.idle) == 1 {
			most = o.idle[0].most
		}
		return len(o.idle) == 1
	})
	if most != 4*time.Second {
		t.Errorf("kept for %v, want a little less than the 5 s of the origin", most)
	}
}

func TestManyStreamsStarveNobody(t *testing.T) {
	const streams = 600
	addr := between(t, Config{}, OriginConfig{}, func(c *peer) {
		for h := c.message(); h != ""; h = c.message() {
			if strings.Contains(h, "/events") {
				c.say("HTTP/1.1 200 OK⏎Transfer-Encoding: chunked⏎⏎1⏎e⏎")
				continue
			}
			c.say("HTTP/1.1 200 OK⏎Content-Length: 2⏎⏎ok")
		}
	})
	for range streams {
		c := dial(t, addr)
		c.say("GET /events HTTP/1.1⏎Host: h⏎⏎")
		if got := c.head(); !strings.HasPrefix(got, "HTTP/1.1 200") {
			t.Fatalf("got %q, want 200", got)
		}
	}
	c := dial(t, addr)
	c.say("GET / HTTP/1.1⏎Host: h⏎⏎")
	if got := c.message(); !strings.HasSuffix(got, "ok") {
		t.Errorf("got %q, want 200", got)
	}
}
