package http1

import (
	"net"
	"net/netip"
	"testing"
)

// TestAProxyBehindARedirectGetsWhatWasMeantForIt: the caller speaks to a proxy of its own, and the kernel has brought it
// here on the way there.
func TestAProxyBehindARedirectGetsWhatWasMeantForIt(t *testing.T) {
	for _, c := range []struct {
		name, request string
		moved         bool // it is sent elsewhere than it was going
		want          string
	}{
		{"a request", "GET http://u@shop:81/a//b?c HTTP/1.1⏎Host: shop:81⏎Proxy-Authorization: p⏎Proxy-Connection: keep-alive⏎⏎", false,
			"GET http://u@shop:81/a//b?c HTTP/1.1⏎Host: shop:81⏎Proxy-Authorization: p⏎⏎"},
		{"a request without a path", "GET http://shop HTTP/1.1⏎Host: shop⏎⏎", false, "GET http://shop HTTP/1.1⏎Host: shop⏎⏎"},
		{"a tunnel", "CONNECT shop:443 HTTP/1.1⏎Host: shop:443⏎Proxy-Authorization: p⏎⏎", false,
			"CONNECT shop:443 HTTP/1.1⏎Host: shop:443⏎Proxy-Authorization: p⏎⏎"},
		{"a request that goes elsewhere", "GET http://shop/a HTTP/1.1⏎Host: shop⏎Proxy-Authorization: p⏎⏎", true,
			"GET /a HTTP/1.1⏎Host: shop⏎⏎"},
		{"a request for the server itself", "GET /a HTTP/1.1⏎Host: shop⏎Proxy-Authorization: p⏎⏎", false,
			"GET /a HTTP/1.1⏎Host: shop⏎⏎"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := make(chan string, 1)
			addr := listen(t, func(p *peer) {
				got <- p.head()
				p.say("HTTP/1.1 407 No⏎Proxy-Authenticate: Basic⏎Content-Length: 0⏎Connection: close⏎⏎")
			})
			dst := netip.MustParseAddrPort(addr)
			if c.moved {
				dst = netip.MustParseAddrPort("10.96.0.1:3128")
			}
			o := NewOrigin(addr, OriginConfig{})
			defer o.Close()
			s := NewServer(Config{}, sendTo(o))
			defer s.Close()
			ours, theirs := pipe(t)
			go s.ServeConn(ours, dst)
			caller := newPeer(t, theirs)
			caller.say(c.request)
			if got := visible(<-got); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if got, want := visible(caller.head()), "HTTP/1.1 407 No⏎Proxy-Authenticate: Basic⏎Content-Length: 0⏎⏎"; got != want {
				t.Errorf("the caller got %q, want %q", got, want)
			}
		})
	}
}

// pipe gives both ends of a connection.
func pipe(t *testing.T) (ours, theirs net.Conn) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	if theirs, err = net.Dial("tcp", ln.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if ours, err = ln.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = theirs.Close() })
	return ours, theirs
}
