package http1

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"graylane/test/harness"
)

const opened = "HTTP/1.1 200 OK⏎⏎"

// looking is a Config whose look says always the same.
func looking(http bool, err error) Config {
	return Config{Look: func(net.Conn, []byte, []byte, net.Conn) (bool, error) { return http, err }}
}

// toward accepts a CONNECT, connects its tunnel to o, and answers other requests by where they came.
func toward(o *Origin) Handler {
	return handlerFunc(func(x *Exchange) {
		if !x.Req.Connect() {
			x.Reply(200, "", string(x.Req.Authority())+" via "+string(x.Via))
			return
		}
		err := x.Accept()
		if err == nil && !x.Opened() {
			err = x.Tunnel(o)
		}
		if err != nil {
			x.Fail(err)
		}
	})
}

func nowhere(t *testing.T) *Origin {
	t.Helper()
	return NewOrigin(harness.FreeAddress(t), OriginConfig{})
}

func TestHTTPInATunnelIsServedAsOutsideOfIt(t *testing.T) {
	_, addr := serve(t, looking(true, nil), toward(nowhere(t)))
	for _, early := range []bool{true, false} {
		c := dial(t, addr)
		first := "CONNECT users:80 HTTP/1.1⏎Host: other⏎⏎"
		request := "GET / HTTP/1.1⏎Host: users⏎⏎"
		if early {
			first, request = first+request, ""
		}
		c.say(first)
		if got := c.head(); got != opened {
			t.Errorf("got %q, want %q", got, opened)
		}
		for range 2 {
			c.say(request)
			if got, want := c.message(), "users via users:80"; !strings.HasSuffix(got, "⏎⏎"+want+"\n") {
				t.Errorf("got %q, want %q in it", got, want)
			}
			request = "GET / HTTP/1.1⏎Host: users⏎⏎"
		}
	}
}

func TestHTTP2InATunnelIsHandedOn(t *testing.T) {
	cfg, handed := looking(true, nil), make(chan string, 1)
	cfg.HTTP2 = func(c net.Conn, _ netip.AddrPort) {
		defer c.Close()
		all, err := io.ReadAll(c)
		if err != nil {
			t.Errorf("reading: %v", err)
		}
		handed <- string(c.(interface{ Via() []byte }).Via()) + ": " + string(all)
	}
	_, addr := serve(t, cfg, toward(nowhere(t)))
	c := dial(t, addr)
	c.say("CONNECT users:80 HTTP/1.1⏎Host: users⏎⏎" + preface[:5])
	c.say(preface[5:] + "frames")
	_ = c.Conn.(*net.TCPConn).CloseWrite()
	if got, want := <-handed, "users:80: "+preface+"frames"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestOtherBytesGoThroughATunnelThatWasLookedInto(t *testing.T) {
	o := NewOrigin(listen(t, func(c *peer) {
		c.say("banner")
		_, _ = io.Copy(c.Conn, c.r)
		_ = c.Conn.(*net.TCPConn).CloseWrite()
	}), OriginConfig{})
	_, addr := serve(t, looking(false, nil), toward(o))
	c := dial(t, addr)
	c.say("CONNECT users:80 HTTP/1.1⏎Host: users⏎⏎early")
	if got := c.head() + c.bytes(6); got != opened+"banner" {
		t.Errorf("got %q, want one 200 and the banner", got)
	}
	c.say("late")
	_ = c.Conn.(*net.TCPConn).CloseWrite()
	if got, err := c.rest(); got != "earlylate" || err != nil {
		t.Errorf("got %q, %v, want all bytes and an end", got, err)
	}
}

// What is known only once the origin is connected to, costs it no connection more.
func TestTheConnectionOfATunnelServesTheRequestInIt(t *testing.T) {
	var connections atomic.Int32
	o := NewOrigin(listen(t, func(c *peer) {
		connections.Add(1)
		for c.head() != "" {
			c.say("HTTP/1.1 200 OK⏎Content-Length: 2⏎⏎ok")
		}
	}), OriginConfig{})
	t.Cleanup(o.Close)
	cfg := Config{Look: func(_ net.Conn, _, _ []byte, origin net.Conn) (bool, error) { return origin != nil, nil }}
	_, addr := serve(t, cfg, handlerFunc(func(x *Exchange) {
		if x.Req.Connect() {
			toward(o).Serve(x)
			return
		}
		sendTo(o).Serve(x)
	}))
	c := dial(t, addr)
	c.say("CONNECT users:80 HTTP/1.1⏎Host: users⏎⏎")
	if got := c.head(); got != opened {
		t.Errorf("got %q, want %q", got, opened)
	}
	for range 2 {
		c.say("GET / HTTP/1.1⏎Host: users⏎⏎")
		if got := c.message(); !strings.HasSuffix(got, "⏎⏎ok") {
			t.Errorf("got %q, want ok", got)
		}
	}
	if got := connections.Load(); got != 1 {
		t.Errorf("the origin was connected to %d times, want once", got)
	}
}

// A proxy at the end of a tunnel gets what is for it, in the form in which it came.
func TestATunnelInATunnelIsForAnotherProxy(t *testing.T) {
	heard := make(chan string, 4)
	o := NewOrigin(listen(t, func(c *peer) {
		for h := c.head(); h != ""; h = c.head() {
			heard <- h
			c.say("HTTP/1.1 204 No Content⏎⏎")
		}
	}), OriginConfig{})
	t.Cleanup(o.Close)
	var looks atomic.Int32
	cfg := Config{Look: func(net.Conn, []byte, []byte, net.Conn) (bool, error) { looks.Add(1); return true, nil }}
	_, addr := serve(t, cfg, handlerFunc(func(x *Exchange) {
		if err := x.Accept(); err != nil {
			t.Error(err)
		}
		if !x.Opened() {
			sendTo(o).Serve(x)
		}
	}))
	c := dial(t, addr)
	c.say("CONNECT proxy:3128 HTTP/1.1⏎Host: proxy⏎⏎")
	c.head()
	for _, request := range []string{
		"GET http://far/ HTTP/1.1⏎Host: far⏎Proxy-Authorization: p⏎⏎",
		"CONNECT far:443 HTTP/1.1⏎Host: far:443⏎Proxy-Authorization: p⏎⏎",
	} {
		c.say(request)
		if got := <-heard; got != request {
			t.Errorf("the proxy heard %q, want %q", got, request)
		}
		c.head()
	}
	if got := looks.Load(); got != 1 {
		t.Errorf("looked %d times, want once", got)
	}
}

func TestATunnelThatLeadsNowhereAfterAllIsReset(t *testing.T) {
	for name, cfg := range map[string]Config{
		"nobody is there":   looking(false, nil),
		"a look that fails": looking(false, errors.New("no")),
	} {
		t.Run(name, func(t *testing.T) {
			_, addr := serve(t, cfg, toward(nowhere(t)))
			c := dial(t, addr)
			c.say("CONNECT users:80 HTTP/1.1⏎Host: users⏎⏎hello")
			if got := c.head(); got != opened {
				t.Errorf("got %q, want %q", got, opened)
			}
			if got, err := c.rest(); got != "" || !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("got %q, %v, want a reset", got, err)
			}
		})
	}
}

func TestTheEndOfTheServerEndsATunnelThatIsLookedInto(t *testing.T) {
	began, end := make(chan bool), make(chan bool)
	cfg := Config{Look: func(net.Conn, []byte, []byte, net.Conn) (bool, error) { began <- true; <-end; return true, nil }}
	errs := make(chan error, 1)
	s, addr := serve(t, cfg, handlerFunc(func(x *Exchange) {
		err := x.Accept()
		errs <- err
		x.Fail(err)
	}))
	c := dial(t, addr)
	c.say("CONNECT users:80 HTTP/1.1⏎Host: users⏎⏎")
	<-began
	s.Close()
	close(end)
	if _, reason := Status(<-errs); reason != ShuttingDown {
		t.Errorf("got %s, want %s", reason, ShuttingDown)
	}
}
