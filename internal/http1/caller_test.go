package http1

import (
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"
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
