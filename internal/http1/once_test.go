package http1

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strings"
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
	var n atomic.Int64
	o := NewOrigin(listen(t, func(c *peer) {
		for {
			_ = c.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
			_, err := c.r.Peek(1)
			if err != nil && !waiting(c) { // on a loaded machine time is over while a request lies there
				return
			}
			_ = c.SetReadDeadline(time.Time{})
			if h := c.message(); !strings.HasSuffix(h, "⏎⏎x") {
				return
			}
			n.Add(1)
			c.say("HTTP/1.1 200 OK⏎Content-Length: 2⏎⏎ok")
		}
	}), OriginConfig{})
	_, addr := serve(t, Config{}, sendTo(o))
	failed := make(chan string, callers)
	for i := range callers {
		go func() {
			c := dial(t, addr)
			r := rand.New(rand.NewPCG(1, uint64(i)))
			for range rounds {
				<-time.After(20*time.Millisecond + time.Duration(r.Int64N(int64(100*time.Millisecond))))
				c.say("POST / HTTP/1.1⏎Host: h⏎Content-Length: 1⏎⏎x")
				if got := c.message(); !strings.HasPrefix(got, "HTTP/1.1 200 ") {
					failed <- got
					return
				}
			}
			failed <- ""
		}()
	}
	for range callers {
		if got := <-failed; got != "" {
			t.Errorf("a POST got %q", got)
		}
	}
	if got := n.Load(); got != callers*rounds {
		t.Errorf("the origin heard %d POSTs, want %d", got, callers*rounds)
	}
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

func TestSaysWhatMayBeTriedElsewhere(t *testing.T) {
	tests := map[string]struct {
		method                string
		play                  func(c *peer)
		dial                  func(context.Context, string) (net.Conn, error)
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
		}, reason: ConnectTimeout, retryable: true},
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
			o := NewOrigin(addr, OriginConfig{Dial: tt.dial, Connect: 20 * time.Millisecond})
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
			until(t, "the connection is kept, or gone", func() bool {
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
	until(t, "the connection is kept", func() bool {
		o.mu.Lock()
		defer o.mu.Unlock()
		return len(o.idle) == 1
	})
	o.mu.Lock()
	defer o.mu.Unlock()
	if most := o.idle[0].most; most != 4*time.Second {
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
