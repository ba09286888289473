package http1

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// counting is an origin that counts the requests it hears.
func counting(n *atomic.Int64, then func(c *peer, request string)) func(c *peer) {
	return func(c *peer) {
		for {
			h := c.message()
			if h == "" {
				return
			}
			n.Add(1)
			then(c, h)
		}
	}
}

func TestSendsOnceWhatMayNotBeRepeated(t *testing.T) {
	tests := map[string]struct {
		request string
		want    int64
	}{
		"GET":                    {"GET / HTTP/1.1⏎Host: h⏎⏎", 2},
		"PUT":                    {"PUT / HTTP/1.1⏎Host: h⏎Content-Length: 1⏎⏎x", 2},
		"POST":                   {"POST / HTTP/1.1⏎Host: h⏎Content-Length: 1⏎⏎x", 1},
		"POST with a key":        {"POST / HTTP/1.1⏎Host: h⏎Idempotency-Key: k⏎Content-Length: 1⏎⏎x", 1},
		"PATCH":                  {"PATCH / HTTP/1.1⏎Host: h⏎Content-Length: 1⏎⏎x", 1},
		"PUT of a streamed body": {"PUT / HTTP/1.1⏎Host: h⏎Content-Length: 100000⏎⏎" + strings.Repeat("x", 100000), 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var n atomic.Int64
			addr := between(t, Config{}, OriginConfig{}, func(c *peer) {
				counting(&n, func(c *peer, request string) {
					if strings.Contains(request, "/warm") {
						c.say("HTTP/1.1 200 OK⏎Content-Length: 0⏎⏎")
						n.Add(-1)
						return
					}
					_ = c.Close() // without a reply
				})(c)
			})
			c := dial(t, addr)
			c.say("GET /warm HTTP/1.1⏎Host: h⏎⏎") // so that the connection is a kept one
			c.head()
			c.say(tt.request)
			if got := c.head(); !strings.HasPrefix(got, "HTTP/1.1 502 ") || !strings.Contains(got, "origin_closed") {
				t.Errorf("got %q, want 502 for origin_closed", got)
			}
			if got := n.Load(); got != tt.want {
				t.Errorf("the origin heard it %d times, want %d", got, tt.want)
			}
		})
	}
}

func TestRetriesAsOftenAsConfigured(t *testing.T) {
	for retries, want := range map[int]int64{-1: 1, 1: 2, 0: 2} {
		var n atomic.Int64
		o := NewOrigin(listen(t, counting(&n, func(c *peer, request string) {
			if strings.Contains(request, "/warm") {
				c.say("HTTP/1.1 200 OK⏎Content-Length: 0⏎⏎")
				return
			}
			_ = c.Close()
		})), OriginConfig{Retries: retries})
		_, addr := serve(t, Config{}, sendTo(o))
		c := dial(t, addr)
		c.say("GET /warm HTTP/1.1⏎Host: h⏎⏎")
		c.head()
		n.Store(0)
		c.say("GET / HTTP/1.1⏎Host: h⏎⏎")
		c.head()
		if got := n.Load(); got != want {
			t.Errorf("Retries %d: the origin heard it %d times, want %d", retries, got, want)
		}
	}
}

// The origin closes each connection 100 ms after its reply, the caller sends after 20 to 120 ms: a
// kept connection is closed in the very moment in which it is used, again and again.
func TestKeptConnectionsThatCloseCostNothing(t *testing.T) {
	const callers, rounds = 40, 25
	var n, lost atomic.Int64
	o := NewOrigin(listen(t, func(c *peer) {
		for {
			_, err := c.r.Peek(1)
			if err != nil && !waiting(c) { // on a loaded machine time is over while a request lies there
				hangUp(c)
				if waiting(c) { // it came in between: what an origin has and does not answer nobody may repeat
					lost.Add(1)
				}
				return
			}
			_ = c.SetReadDeadline(time.Time{})
			if h := c.message(); !strings.HasSuffix(h, "⏎⏎x") {
				return
			}
			n.Add(1)
			c.say("HTTP/1.1 200 OK⏎Content-Length: 2⏎⏎ok")
			_ = c.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
		}
	}), OriginConfig{})
	_, addr := serve(t, Config{}, sendTo(o))
	failed := make(chan string, callers*rounds)
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() {
			c := dial(t, addr)
			r := rand.New(rand.NewPCG(1, uint64(i)))
			for range rounds {
				<-time.After(20*time.Millisecond + time.Duration(r.Int64N(int64(100*time.Millisecond))))
				c.say("POST / HTTP/1.1⏎Host: h⏎Content-Length: 1⏎⏎x")
				if got := c.message(); !strings.HasPrefix(got, "HTTP/1.1 200 ") {
					failed <- got
				}
			}
		})
	}
	all.Wait()
	if got, want := int64(len(failed)), lost.Load(); got != want {
		t.Errorf("%d POSTs failed, such as with %q, want the %d that the origin had and did not answer", got, <-failed, want)
	}
	if got, want := n.Load(), callers*rounds-lost.Load(); got != want {
		t.Errorf("the origin heard %d POSTs, want %d", got, want)
	}
}

// hangUp ends both directions, so that what comes from then on is refused, and leaves what has come to be looked at.
func hangUp(c *peer) {
	raw, err := c.Conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) { _ = syscall.Shutdown(int(fd), syscall.SHUT_RDWR) })
}

// waiting says that there are bytes to read.
func waiting(c *peer) (found bool) {
	raw, err := c.Conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		return false
	}
	err = raw.Control(func(fd uintptr) {
		var b [1]byte
		n, _ := recv(fd, b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		found = n > 0
	})
	return err == nil && found
}

func TestSaysWhatMayBeTriedElsewhere(t *testing.T) {
	tests := map[string]struct {
		method                string
		play                  func(c *peer)
		dial                  func(context.Context, string) (net.Conn, error)
		connect               time.Duration
		reason                string
		retryable, repeatable bool
	}{
		"refused": {method: "POST", dial: func(context.Context, string) (net.Conn, error) {
			return nil, errors.New("refused")
		}, reason: ConnectRefused, retryable: true},
		"no such name": {method: "POST", dial: func(context.Context, string) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Err: &net.DNSError{IsTimeout: true}}
		}, reason: DNSFailed, retryable: true},
		"no descriptors": {method: "GET", dial: func(context.Context, string) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Err: os.NewSyscallError("socket", syscall.EMFILE)}
		}, reason: OutOfFiles},
		"connect timeout": {method: "POST", dial: func(ctx context.Context, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}, connect: 20 * time.Millisecond, reason: ConnectTimeout, retryable: true},
		"an error of the dialer's": {method: "GET", dial: func(context.Context, string) (net.Conn, error) {
			return nil, &Error{Op: "connect", Reason: Loop}
		}, reason: Loop},
		"closed without a reply":       {method: "GET", play: func(c *peer) { c.message() }, reason: OriginClosed, repeatable: true},
		"POST closed without a reply":  {method: "POST", play: func(c *peer) { c.message() }, reason: OriginClosed},
		"closed in the middle of head": {method: "GET", play: func(c *peer) { c.message(); c.say("HTTP/1.1 2") }, reason: OriginClosed, repeatable: true},
		"bad reply":                    {method: "GET", play: func(c *peer) { c.message(); c.say("what?⏎⏎") }, reason: BadReply, repeatable: true},
		"died in the middle of a body": {method: "GET", play: func(c *peer) { c.message(); c.say("HTTP/1.1 200 OK⏎Content-Length: 5⏎⏎abc") }, reason: OriginClosed},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			addr := "192.0.2.1:1"
			if tt.play != nil {
				addr = listen(t, tt.play)
			}
			o := NewOrigin(addr, OriginConfig{Dial: tt.dial, Connect: tt.connect})
			errs := make(chan error, 1)
			_, relay := serve(t, Config{}, handlerFunc(func(x *Exchange) {
				err := x.Send(o)
				errs <- err
				x.Fail(err)
			}))
			c := dial(t, relay)
			c.say(tt.method + " / HTTP/1.1⏎Host: h⏎Content-Length: 0⏎⏎")
			var e *Error
			if err := <-errs; !errors.As(err, &e) {
				t.Fatalf("got %v, want an *Error", err)
			}
			got := fmt.Sprint(e.Reason, e.Retryable, e.Repeatable)
			if want := fmt.Sprint(tt.reason, tt.retryable, tt.repeatable); got != want {
				t.Errorf("got %s, want %s (%v)", got, want, e)
			}
		})
	}
}

func TestAReplyCutShortIsNoReply(t *testing.T) {
	big := strings.Repeat("x", 30000)
	tests := map[string]string{
		"length": "HTTP/1.1 200 OK⏎Content-Length: 100⏎⏎hello",
		"chunks": "HTTP/1.1 200 OK⏎Transfer-Encoding: chunked⏎⏎5⏎hello⏎",
		"large":  "HTTP/1.1 200 OK⏎Content-Length: 100000⏎⏎" + big,
	}
	for name, reply := range tests {
		t.Run(name, func(t *testing.T) {
			var n atomic.Int64
			addr := between(t, Config{}, OriginConfig{}, counting(&n, func(c *peer, _ string) {
				c.say(reply)
				_ = c.Close()
			}))
			c := dial(t, addr)
			c.say("GET / HTTP/1.1⏎Host: h⏎⏎")
			if got, _ := c.rest(); got != reply {
				t.Errorf("got %d bytes, want exactly the %d that came", len(got), len(reply))
			}
			if n.Load() != 1 {
				t.Errorf("sent %d times, want 1", n.Load())
			}
		})
	}
	t.Run("a body that ends by close is reset", func(t *testing.T) {
		addr := between(t, Config{}, OriginConfig{}, func(c *peer) {
			c.message()
			c.say("HTTP/1.1 200 OK⏎⏎hello")
			_ = c.Conn.(*net.TCPConn).SetLinger(0)
		})
		c := dial(t, addr)
		c.say("GET / HTTP/1.1⏎Host: h⏎⏎")
		if got, err := c.rest(); err == nil {
			t.Errorf("got %q and a regular end, want an error", got)
		}
	})
}

// The end of a body that an origin did not take any more is not the next request. With one of these
// sizes the last piece of the body is what the buffers between us have no room for.
func TestNeverTakesTheRestOfABodyForARequest(t *testing.T) {
	o := NewOrigin(listen(t, func(c *peer) {
		c.head()
		c.bytes(small) // and no more: the rest fills the buffers between us
		<-time.After(soon)
		_ = c.Conn.(*net.TCPConn).SetLinger(0)
	}), OriginConfig{Dial: func(_ context.Context, addr string) (net.Conn, error) {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			err = c.(*net.TCPConn).SetWriteBuffer(4096)
		}
		return c, err
	}})
	_, addr := serve(t, Config{}, handlerFunc(func(x *Exchange) {
		if string(x.Req.Path()) == "/smuggled" {
			t.Error("a part of a body was taken for a request")
		}
		sendTo(o).Serve(x)
	}))
	for size := 20000; size < 600000; size += 20000 {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			t.Parallel()
			c := dial(t, addr)
			c.say(fmt.Sprintf("POST / HTTP/1.1⏎Host: h⏎Content-Length: %d⏎⏎", size) +
				crlf(strings.Repeat("GET /smuggled HTTP/1.1⏎Host: h⏎⏎", size/30))[:size])
			if got := c.message(); !strings.HasPrefix(got, "HTTP/1.1 502 ") {
				t.Errorf("got %q, want 502", got)
			}
			_ = c.SetReadDeadline(time.Now().Add(soon))
			if got, _ := c.rest(); got != "" {
				t.Errorf("more came back: %q", got)
			}
		})
	}
}
