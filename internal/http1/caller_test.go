package http1

import (
	"fmt"
	"net"
	"net/netip"
	"runtime"
	"strings"
	"testing"
	"time"

	"graylane/test/harness"
)

// silent is an origin that takes requests and says nothing; ended hears of the end of its connections.
func silent(ended chan<- error) func(c *peer) {
	return func(c *peer) {
		c.head()
		_, err := c.rest()
		ended <- err
	}
}

func TestACallerThatLeavesTakesTheOriginsConnectionAlong(t *testing.T) {
	const post = "POST / HTTP/1.1⏎Host: h⏎Content-Length: 100000⏎⏎abc"
	const events = "HTTP/1.1 200 OK⏎Transfer-Encoding: chunked⏎⏎1⏎e⏎"
	tests := map[string]struct {
		request string
		reply   string
		leave   func(c *net.TCPConn)
	}{
		"closed while waiting":          {"GET / HTTP/1.1⏎Host: h⏎⏎", "", func(c *net.TCPConn) { _ = c.Close() }},
		"reset while waiting":           {"GET / HTTP/1.1⏎Host: h⏎⏎", "", func(c *net.TCPConn) { _ = c.SetLinger(0); _ = c.Close() }},
		"closed with a request waiting": {"GET / HTTP/1.1⏎Host: h⏎⏎GET /2 HTTP/1.1⏎Host: h⏎⏎", "", func(c *net.TCPConn) { _ = c.Close() }},
		"closed while uploading":        {post, "", func(c *net.TCPConn) { _ = c.Close() }},
		"closed during a stream":        {"GET / HTTP/1.1⏎Host: h⏎⏎", events, func(c *net.TCPConn) { _ = c.Close() }},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ended, begun := make(chan error, 1), make(chan bool)
			addr := between(t, Config{}, OriginConfig{}, func(c *peer) {
				c.head()
				c.say(tt.reply)
				begun <- true
				_, err := c.rest()
				ended <- err
			})
			c := dial(t, addr)
			c.say(tt.request)
			<-begun
			tt.leave(c.Conn.(*net.TCPConn))
			select {
			case <-ended:
			case <-time.After(patient):
				t.Errorf("the origin's connection was still there after %v", patient)
			}
		})
	}
}

func TestACallerThatSendsNoMoreStillGetsItsReply(t *testing.T) {
	addr := between(t, Config{}, OriginConfig{}, answer("HTTP/1.1 200 OK⏎Content-Length: 2⏎⏎ok"))
	c := dial(t, addr)
	c.say("GET / HTTP/1.1⏎Host: h⏎⏎")
	_ = c.Conn.(*net.TCPConn).CloseWrite()
	if got, err := c.rest(); got != "HTTP/1.1 200 OK⏎Content-Length: 2⏎⏎ok" || err != nil {
		t.Errorf("got %q, %v, want the reply and a regular end", got, err)
	}
}

func TestACallerThatSendsNoMoreStillGetsALongReply(t *testing.T) {
	addr := between(t, Config{}, OriginConfig{}, func(c *peer) {
		c.head()
		c.say("HTTP/1.1 200 OK⏎Content-Length: 20⏎⏎")
		for range 20 {
			c.say("x")
			<-time.After(patience / 4)
		}
	})
	c := dial(t, addr)
	c.say("GET / HTTP/1.1⏎Host: h⏎⏎")
	_ = c.Conn.(*net.TCPConn).CloseWrite()
	if got, err := c.rest(); !strings.HasSuffix(got, strings.Repeat("x", 20)) || err != nil {
		t.Errorf("got %q, %v, want all of it", got, err)
	}
}

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
	until(t, "a place is free", func() bool { return s.Conns() < 2 })
	c = dial(t, addr)
	c.say("GET / HTTP/1.1⏎Host: h⏎⏎")
	if got := c.head(); !strings.HasPrefix(got, "HTTP/1.1 204 ") {
		t.Errorf("after one has left: got %q, want 204", got)
	}
}

// until waits for a condition that comes about by itself.
func until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patient); !ok(); {
		if time.Now().After(end) {
			t.Fatalf("not so after %v: %s", patient, what)
		}
		<-time.After(time.Millisecond)
	}
}

func TestDrains(t *testing.T) {
	begun, release := make(chan bool), make(chan bool)
	play := func(c *peer) {
		for h := c.message(); h != ""; h = c.message() {
			if strings.Contains(h, "/slow") {
				begun <- true
				<-release
			}
			c.say("HTTP/1.1 200 OK⏎Content-Length: 0⏎⏎")
		}
	}
	for name, closes := range map[string]bool{"with the end announced": true, "silently": false} {
		t.Run(name, func(t *testing.T) {
			o := NewOrigin(listen(t, play), OriginConfig{})
			end := "Connection: close⏎"
			if !closes {
				end = ""
			}
			want := "HTTP/1.1 200 OK⏎Content-Length: 0⏎" + end + "⏎"
			var s *Server
			var addr string
			var idle, busy *peer
			harness.Once(t, func() error {
				s, addr = serve(t, Config{CloseOnDrain: closes}, sendTo(o))
				idle, busy = dial(t, addr), dial(t, addr)
				young := dial(t, addr)
				for _, c := range []*peer{idle, young} {
					c.say("GET / HTTP/1.1⏎Host: h⏎⏎")
					c.head()
				}
				busy.say("GET /slow HTTP/1.1⏎Host: h⏎⏎")
				<-begun
				s.Drain()
				young.say("GET / HTTP/1.1⏎Host: h⏎⏎")
				if got := young.head(); got != want {
					release <- true
					return fmt.Errorf("a request on a connection that was idle for less than a second: got %q, want %q", got, want)
				}
				return nil
			})
			if t.Failed() {
				return
			}
			fresh := dial(t, addr)
			fresh.say("GET / HTTP/1.1⏎Host: h⏎⏎")
			if got := fresh.head(); got != want {
				t.Errorf("a request while draining: got %q, want %q", got, want)
			}
			release <- true
			if got := busy.head(); got != want {
				t.Errorf("the request in flight: got %q, want %q", got, want)
			}
			if !closes {
				idle.say("GET / HTTP/1.1⏎Host: h⏎⏎")
				if got := idle.head(); got != want {
					t.Errorf("an idle connection: got %q, want %q", got, want)
				}
				return
			}
			if got, err := idle.rest(); got != "" || err != nil {
				t.Errorf("an idle connection: got %q, %v, want its end", got, err)
			}
			until(t, "all connections have ended", func() bool { return s.Conns() == 0 })
		})
	}
}

func TestCloseCutsEverything(t *testing.T) {
	ended := make(chan error, 2)
	o := NewOrigin(listen(t, silent(ended)), OriginConfig{})
	s, addr := serve(t, Config{}, sendTo(o))
	idle, busy := dial(t, addr), dial(t, addr)
	busy.say("GET / HTTP/1.1⏎Host: h⏎⏎")
	until(t, "both are connected", func() bool { return s.Active() == 1 && s.Conns() == 2 })
	s.Close()
	idle.rest()
	busy.rest()
	<-ended
}

func TestAHandlerThatDoesNothingIsNoticed(t *testing.T) {
	s, addr := serve(t, Config{}, handlerFunc(func(x *Exchange) {
		if string(x.Req.Path()) == "/panic" {
			panic("oops")
		}
	}))
	c := dial(t, addr)
	c.say("GET / HTTP/1.1⏎Host: h⏎⏎")
	if got := c.message(); !strings.HasPrefix(got, "HTTP/1.1 500 ") {
		t.Errorf("got %q, want 500", got)
	}
	c.say("GET /panic HTTP/1.1⏎Host: h⏎⏎")
	if got, _ := c.rest(); got != "" {
		t.Errorf("got %q, want the end", got)
	}
	if got := s.Panics(); got != 1 {
		t.Errorf("Panics() = %d, want 1", got)
	}
}

func TestRepliesOfOurOwn(t *testing.T) {
	_, addr := serve(t, Config{}, handlerFunc(func(x *Exchange) {
		x.Reply(503, "unavailable", "no endpoint\r\nX: y")
		x.Reply(200, "", "a second one")
		if x.Status() != 503 {
			t.Errorf("Status: got %d, want 503", x.Status())
		}
	}))
	c := dial(t, addr)
	for range 2 {
		c.say("GET / HTTP/1.1⏎Host: h⏎⏎")
		got := c.message()
		if !strings.HasPrefix(got, "HTTP/1.1 503 Service Unavailable⏎Date: ") || !strings.HasSuffix(got, "⏎⏎no endpoint  X: y\n") ||
			!strings.Contains(got, "⏎Content-Type: text/plain; charset=utf-8⏎Content-Length: 18⏎X-Graylane-Error: unavailable⏎") {
			t.Errorf("got %q", got)
		}
	}
	c.say("HEAD / HTTP/1.1⏎Host: h⏎⏎GET / HTTP/1.1⏎Host: h⏎⏎")
	c.head()
	if got := c.message(); !strings.HasSuffix(got, "no endpoint  X: y\n") {
		t.Errorf("after HEAD: got %q, want the second reply", got)
	}
	c.say("POST / HTTP/1.1⏎Host: h⏎Content-Length: 1000000⏎⏎" + strings.Repeat("x", 500000))
	if got := c.head(); !strings.HasPrefix(got, "HTTP/1.1 503 ") || !strings.Contains(got, "⏎Connection: close⏎") {
		t.Errorf("to an unfinished upload: got %q, want 503 and the end", got)
	}
}

func TestTellsWhoCalls(t *testing.T) {
	got := make(chan string, 1)
	s := NewServer(Config{}, handlerFunc(func(x *Exchange) {
		got <- x.Peer.String() + " " + x.Dst.String()
		x.Reply(200, "", "")
	}))
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	c := dial(t, ln.Addr().String())
	conn, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan bool)
	go func() {
		s.ServeConn(prefixed{conn.(*net.TCPConn), "GET / HTTP/1.1\r\nHo"}, netip.MustParseAddrPort("10.0.0.1:80"))
		close(done)
	}()
	c.say("st: h⏎⏎")
	if g, want := <-got, c.LocalAddr().String()+" 10.0.0.1:80"; g != want {
		t.Errorf("got %q, want %q", g, want)
	}
	_ = c.Close()
	<-done
}

// prefixed is a connection of which a part was read already.
type prefixed struct {
	*net.TCPConn
	prefix string
}

func (p prefixed) Prefix() []byte { return []byte(p.prefix) }

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
