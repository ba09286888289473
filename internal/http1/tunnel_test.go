package http1

import (
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"graylane/test/harness"
)

const (
	askWS  = "GET /ws HTTP/1.1⏎Host: h⏎Upgrade: websocket⏎Connection: keep-alive, Upgrade⏎Sec-WebSocket-Key: k⏎⏎"
	gotWS  = "GET /ws HTTP/1.1⏎Host: h⏎Upgrade: websocket⏎Sec-WebSocket-Key: k⏎Connection: Upgrade⏎⏎"
	saysWS = "HTTP/1.1 101 Switching Protocols⏎Upgrade: websocket⏎Connection: Upgrade⏎Sec-WebSocket-Accept: a⏎⏎"
	hears  = "HTTP/1.1 101 Switching Protocols⏎Upgrade: websocket⏎Sec-WebSocket-Accept: a⏎Connection: Upgrade⏎⏎"
)

// The first frames may come in one piece with the heads, on either side.
func TestUpgrades(t *testing.T) {
	addr := between(t, Config{}, OriginConfig{}, func(c *peer) {
		if got := c.head(); got != gotWS {
			t.Errorf("the origin heard %q, want %q", got, gotWS)
		}
		c.say(saysWS + "first of the origin")
		if got := c.bytes(19); got != "first of the caller" {
			t.Errorf("the origin got %q", got)
		}
		c.say("second")
		more, err := c.rest()
		if more != "third" || err != nil {
			t.Errorf("the origin got %q, %v, want the third and an end", more, err)
		}
		c.say("fourth") // half-closed: this direction still works
	})
	c := dial(t, addr)
	c.say(askWS + "first of the caller")
	if got := c.head(); got != hears {
		t.Errorf("got %q, want %q", got, hears)
	}
	if got := c.bytes(19 + 6); got != "first of the originsecond" {
		t.Errorf("got %q", got)
	}
	c.say("third")
	_ = c.Conn.(*net.TCPConn).CloseWrite()
	if got, err := c.rest(); got != "fourth" || err != nil {
		t.Errorf("got %q, %v, want the fourth and an end", got, err)
	}
}

func TestARefusedUpgradeIsAnOrdinaryReply(t *testing.T) {
	addr := between(t, Config{}, OriginConfig{}, answer("HTTP/1.1 403 Forbidden⏎Content-Length: 2⏎⏎no"))
	c := dial(t, addr)
	for range 2 {
		c.say(askWS)
		if got, want := c.message(), "HTTP/1.1 403 Forbidden⏎Content-Length: 2⏎⏎no"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestATunnelThatIsResetIsResetOnTheOtherSide(t *testing.T) {
	began, ended := make(chan bool), make(chan error, 1)
	addr := between(t, Config{}, OriginConfig{}, func(c *peer) {
		c.head()
		c.say(saysWS)
		began <- true
		_, err := c.rest()
		ended <- err
	})
	c := dial(t, addr)
	c.say(askWS)
	c.head()
	<-began
	_ = c.Conn.(*net.TCPConn).SetLinger(0)
	_ = c.Close()
	if err := <-ended; err == nil {
		t.Error("the origin saw a regular end, want a reset")
	}
}

func tunnelTo(o *Origin) Handler {
	return handlerFunc(func(x *Exchange) {
		if err := x.Tunnel(o); err != nil {
			x.Fail(err)
		}
	})
}

func TestTunnels(t *testing.T) {
	o := NewOrigin(listen(t, func(c *peer) {
		c.say("banner") // the server speaks first
		_, _ = io.Copy(c.Conn, c.r)
		_ = c.Conn.(*net.TCPConn).CloseWrite()
	}), OriginConfig{})
	names := make(chan string, 1)
	_, addr := serve(t, Config{}, handlerFunc(func(x *Exchange) {
		names <- string(x.Req.Authority())
		tunnelTo(o).Serve(x)
	}))
	for _, name := range []string{"h:443", "[::1]:443"} {
		c := dial(t, addr)
		c.say("CONNECT " + name + " HTTP/1.1⏎Host: other⏎⏎coalesced")
		if got, want := c.head(), "HTTP/1.1 200 OK⏎⏎"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if got := <-names; got != name {
			t.Errorf("Authority = %q, want %q", got, name)
		}
		if got := c.bytes(6); got != "banner" {
			t.Errorf("got %q, want the banner", got)
		}
		big := strings.Repeat("x", 1<<20)
		go func() {
			c.say(big)
			_ = c.Conn.(*net.TCPConn).CloseWrite()
		}()
		if got, err := c.rest(); got != "coalesced"+big || err != nil {
			t.Errorf("got %d bytes, %v, want all of them and an end", len(got), err)
		}
	}
}

func TestTunnelsOnlyConnect(t *testing.T) {
	o := NewOrigin(listen(t, func(c *peer) { t.Error("the origin was connected to") }), OriginConfig{})
	_, addr := serve(t, Config{}, tunnelTo(o))
	c := dial(t, addr)
	c.say("GET / HTTP/1.1⏎Host: h⏎⏎")
	if got := c.message(); !strings.HasPrefix(got, "HTTP/1.1 400 ") {
		t.Errorf("got %q, want 400", got)
	}
}

func TestATunnelToNowhereIsAnError(t *testing.T) {
	errs := make(chan error, 1)
	o := NewOrigin(harness.FreeAddress(t), OriginConfig{})
	_, addr := serve(t, Config{}, handlerFunc(func(x *Exchange) {
		err := x.Tunnel(o)
		errs <- err
		x.Fail(err)
	}))
	c := dial(t, addr)
	c.say("CONNECT h:443 HTTP/1.1⏎Host: h⏎⏎")
	if got := c.message(); !strings.HasPrefix(got, "HTTP/1.1 502 ") || !strings.Contains(got, "connect_refused") {
		t.Errorf("got %q, want 502 for connect_refused", got)
	}
	var e *Error
	if err := <-errs; !errors.As(err, &e) || !e.Retryable {
		t.Errorf("got %v, want a retryable *Error", err)
	}
}

func TestPassesAConnectOnToAnotherProxy(t *testing.T) {
	const ask = "CONNECT far:443 HTTP/1.1⏎Host: far:443⏎⏎"
	addr := between(t, Config{}, OriginConfig{}, func(c *peer) {
		if got := c.head(); got != ask {
			t.Errorf("the proxy heard %q, want %q", got, ask)
		}
		c.say("HTTP/1.1 200 Established⏎⏎")
		c.say(c.bytes(4))
	})
	c := dial(t, addr)
	c.say(ask)
	if got, want := c.head(), "HTTP/1.1 200 Established⏎⏎"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	c.say("ping")
	if got := c.bytes(4); got != "ping" {
		t.Errorf("got %q, want ping", got)
	}
}

func TestLetsTheOriginDecideAboutExpectations(t *testing.T) {
	const ask = "POST / HTTP/1.1⏎Host: h⏎Expect: 100-continue⏎Content-Length: 4⏎⏎"
	t.Run("it wants the body", func(t *testing.T) {
		addr := between(t, Config{}, OriginConfig{}, func(c *peer) {
			for c.head() == ask {
				c.say("HTTP/1.1 100 Continue⏎⏎")
				c.say("HTTP/1.1 200 OK⏎Content-Length: 4⏎⏎" + c.bytes(4))
			}
		})
		c := dial(t, addr)
		for range 2 {
			c.say(ask)
			if got, want := c.head(), "HTTP/1.1 100 Continue⏎⏎"; got != want {
				t.Fatalf("got %q, want %q", got, want)
			}
			c.say("body")
			if got, want := c.message(), "HTTP/1.1 200 OK⏎Content-Length: 4⏎⏎body"; got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		}
	})
	t.Run("it does not", func(t *testing.T) {
		addr := between(t, Config{}, OriginConfig{}, func(c *peer) {
			c.head()
			c.say("HTTP/1.1 417 Expectation Failed⏎Content-Length: 0⏎⏎")
			if more, _ := c.rest(); more != "" {
				t.Errorf("the origin heard %q after it had refused", more)
			}
		})
		c := dial(t, addr)
		c.say(ask)
		if got, want := c.head(), "HTTP/1.1 417 Expectation Failed⏎Content-Length: 0⏎Connection: close⏎⏎"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if more, err := c.rest(); more != "" || err != nil {
			t.Errorf("got %q, %v, want an end", more, err)
		}
	})
}
