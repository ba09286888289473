package http1

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
)

// TestAnOriginThatHangsUpTooSoonIsCalledAgain has an origin that closes new connections before they were used, and a Dial that
// waits for that.
func TestAnOriginThatHangsUpTooSoonIsCalledAgain(t *testing.T) {
	for hangsUp, want := range map[int]string{2: "HTTP/1.1 200 ", 3: "HTTP/1.1 502 "} {
		var n atomic.Int64
		left := make(chan bool)
		target := listen(t, func(c *peer) {
			if n.Add(1) <= int64(hangsUp) {
				_ = c.Close()
				left <- true
				return
			}
			c.message()
			c.say("HTTP/1.1 200 OK⏎Content-Length: 0⏎⏎")
		})
		var dialer net.Dialer
		dials := 0
		o := NewOrigin(target, OriginConfig{Dial: func(ctx context.Context, addr string) (net.Conn, error) {
			conn, err := dialer.DialContext(ctx, "tcp", addr)
			if dials++; err == nil && dials <= hangsUp {
				<-left
			}
			return conn, err
		}})
		t.Cleanup(o.Close)
		_, addr := serve(t, Config{}, sendTo(o))
		c := dial(t, addr)
		c.say("POST / HTTP/1.1⏎Host: h⏎Content-Length: 1⏎⏎x")
		if got := c.head(); !strings.HasPrefix(got, want) {
			t.Errorf("after %d that were closed: got %q, want %s", hangsUp, got, want)
		}
	}
}

// TestWhatAnOriginHasReadIsSentOnce has origins that read a request, act on it, and reset the connection before their kernel
// has said that the bytes came, which it does up to 40 ms later.
func TestWhatAnOriginHasReadIsSentOnce(t *testing.T) {
	for _, rest := range []string{"x", strings.Repeat("x", 1<<20)} { // whole at once, and with more to come
		var n atomic.Int64
		o := NewOrigin(listen(t, func(c *peer) {
			if c.message() == "" {
				return
			}
			c.say("HTTP/1.1 200 OK⏎Content-Length: 0⏎⏎")
			if c.bytes(5) == "" {
				return
			}
			n.Add(1)
			_ = c.Conn.(*net.TCPConn).SetLinger(0)
			_ = c.Close()
		}), OriginConfig{})
		t.Cleanup(o.Close)
		_, addr := serve(t, Config{}, sendTo(o))
		const rounds = 20
		for range rounds {
			c := dial(t, addr)
			c.say("GET / HTTP/1.1⏎Host: h⏎⏎")
			c.message()
			c.say(fmt.Sprintf("POST / HTTP/1.1⏎Host: h⏎Content-Length: %d⏎⏎%s", len(rest), rest))
			if got := c.head(); !strings.HasPrefix(got, "HTTP/1.1 502 ") {
				t.Errorf("got %q, want 502", got)
			}
			_ = c.Close()
		}
		if got := n.Load(); got != rounds {
			t.Errorf("of %d requests with %d bytes the origin read %d", rounds, len(rest), got)
		}
	}
}

// What a kernel has not acknowledged nobody can have acted on.
func TestKnowsWhatTheOriginsKernelRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		read bool // before it closes
		want bool
	}{
		"closed before the bytes came": {read: false, want: true},
		"closed after it read them":    {read: true, want: false},
	} {
		t.Run(name, func(t *testing.T) {
			step := make(chan bool)
			addr := listen(t, func(c *peer) {
				c.say(c.bytes(1)) // an exchange that went well
				if !tt.read {
					<-step
					_ = c.Close()
					step <- true
					return
				}
				c.bytes(2)
			})
			w, err := newWire(dial(t, addr).Conn, &buffers{})
			if err != nil {
				t.Fatal(err)
			}
			if err := w.ask([]byte("a"), nil, false); err != nil {
				t.Fatal(err)
			}
			w.consume(1)
			before := w.sent
			if !tt.read {
				step <- true
				<-step
			}
			if err := w.write([]byte("bc"), nil); err != nil {
				t.Fatalf("write: %v, want it to succeed: the kernel does not know yet", err)
			}
			if err := w.fill(); err == nil {
				t.Fatal("an answer came")
			}
			if got := w.unheard(before); got != tt.want {
				t.Errorf("unheard = %v, want %v", got, tt.want)
			}
		})
	}
}
