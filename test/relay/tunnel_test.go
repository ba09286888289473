package relay

import (
	"net"
	"strings"
	"testing"

	"graylane/test/harness"
)

const established = "HTTP/1.1 200 OK⏎⏎"

// A33: CONNECT is answered without a body or a length, and then bytes are bytes, both ways, to the last.
func TestCONNECTIsATunnel(t *testing.T) {
	c := newChain(t, "")
	c.origin.plays(t, func(p *peer) {
		p.hears("\x16\x03\x01hello")
		p.say("\x00first")
		p.hears("second")
		if more, err := p.rest(); more != "" || err != nil { // the caller has ended its side, we have not
			t.Errorf("got %q, %v", more, err)
		}
		p.say("last")
	})
	p := c.dial(t)
	p.say("CONNECT " + c.origin.address() + " HTTP/1.1⏎Host: elsewhere⏎⏎\x16\x03\x01hello")
	p.hears(established + "\x00first")
	p.say("second")
	harness.Must(t, p.Conn.(*net.TCPConn).CloseWrite())
	p.hears("last")
	p.ends()
}

// A33: the name after CONNECT decides, not the Host inside, nor a Host beside it.
func TestCONNECTIsJudgedOnItsName(t *testing.T) {
	base, gray, near := newBank(t)
	base.plays(t, func(p *peer) { p.say("base") })
	gray.plays(t, func(p *peer) { p.say("gray") })
	for request, want := range map[string]string{
		"CONNECT bank:443 HTTP/1.1⏎Host: shop:443⏎⏎":              "gray",
		"CONNECT shop:443 HTTP/1.1⏎Host: bank:443⏎⏎":              "base",
		"CONNECT shop:443 HTTP/1.1⏎Host: shop:443⏎X-Gray: gray⏎⏎": "gray",
		"CONNECT bank:443 HTTP/1.1⏎Host: bank:443⏎X-Gray: base⏎⏎": "base",
	} {
		t.Run(request, func(t *testing.T) {
			p := dial(t, near.Outbound)
			p.say(request)
			p.hears(established + want)
		})
	}
	base.plays(t, func(p *peer) { p.head(); p.say("HTTP/1.1 200 OK⏎Content-Length: 4⏎⏎base") })
	gray.plays(t, func(p *peer) { p.head(); p.say("HTTP/1.1 200 OK⏎Content-Length: 4⏎⏎gray") })
	for request, want := range map[string]string{
		"CONNECT shop:443 HTTP/1.0⏎⏎GET / HTTP/1.1⏎Host: bank:443⏎⏎":                            "base",
		"CONNECT bank:443 HTTP/1.1⏎Host: h⏎⏎GET / HTTP/1.1⏎Host: shop:443⏎⏎":                    "gray",
		"CONNECT bank:443 HTTP/1.1⏎Host: h⏎X-Gray: base⏎⏎GET / HTTP/1.1⏎Host: h⏎⏎":              "gray",
		"CONNECT shop:443 HTTP/1.1⏎Host: h⏎X-Gray: base⏎⏎GET / HTTP/1.1⏎Host: h⏎X-Gray: gray⏎⏎": "gray",
	} {
		t.Run(request, func(t *testing.T) {
			p := dial(t, near.Outbound)
			p.say(request)
			p.hears(established)
			if got := p.reply("GET"); !strings.HasSuffix(got, "⏎⏎"+want) {
				t.Errorf("got %q, want %s", got, want)
			}
		})
	}
}

// newBank is a service with two names and two versions behind a sidecar; one of the names is gray.
func newBank(t *testing.T) (base, gray *origin, near *harness.Sidecar) {
	t.Helper()
	base, gray = listen(t), listen(t)
	policy := harness.PolicyFile(t.TempDir() + "/policy.yaml")
	policy.Write(t, `apiVersion: graylane.dev/v1
rules:
  - {name: bank, tag: gray, matches: [{hosts: [bank]}]}
services:
  - name: bank
    hosts: ["bank:443", "shop:443"]
    versions: [{tag: base, endpoints: ["`+base.address()+`"]}, {tag: gray, endpoints: ["`+gray.address()+`"]}]
`)
	return base, gray, harness.StartSidecar(t, "near", string(policy)).WaitReady(t)
}

// A33: what is no CONNECT, and what would come back to us, is refused.
func TestCONNECTToNowhereIsRefused(t *testing.T) {
	c := newChain(t, "")
	nobody := harness.FreeAddress(t)
	_, port, _ := strings.Cut(c.near.Outbound, ":")
	for _, tt := range []struct{ request, status, reason string }{
		{"CONNECT shop HTTP/1.1⏎Host: shop⏎⏎", "400", "bad_request"},
		{"CONNECT http://shop:443/ HTTP/1.1⏎Host: shop⏎⏎", "400", "bad_request"},
		{"CONNECT " + nobody + " HTTP/1.1⏎Host: h⏎⏎", "502", "connect_refused"},
		{"CONNECT " + c.near.Outbound + " HTTP/1.1⏎Host: h⏎⏎", "508", "loop"},
		{"CONNECT localhost:" + port + " HTTP/1.1⏎Host: h⏎⏎", "508", "loop"},
		{"GET / HTTP/1.1⏎Host: " + c.near.Outbound + "⏎⏎", "508", "loop"},
	} {
		t.Run(tt.request, func(t *testing.T) {
			p := c.dial(t)
			p.say(tt.request)
			got := p.reply("GET")
			if statusOf(got) != tt.status || strings.Join(values(got, "X-Graylane-Error"), " ") != tt.reason {
				t.Errorf("got %q, want %s for %s", got, tt.status, tt.reason)
			}
		})
	}
}

// A33: an IPv6 address is an address; whether the machine has one is another matter.
func TestCONNECTTakesIPv6(t *testing.T) {
	c := newChain(t, "")
	want, target := established+"six", "[::1]:1"
	if l, err := net.Listen("tcp6", "[::1]:0"); err == nil {
		target = l.Addr().String()
		defer l.Close()
		go func() {
			if o, err := l.Accept(); err == nil {
				_, _ = o.Write([]byte("six"))
				_ = o.Close()
			}
		}()
	} else {
		want = "HTTP/1.1 502 Bad Gateway⏎"
	}
	p := c.dial(t)
	p.say("CONNECT " + target + " HTTP/1.1⏎Host: h⏎⏎")
	p.hears(want)
}

const upgrade = "GET /chat HTTP/1.1⏎Host: shop⏎Upgrade: websocket⏎Connection: Upgrade⏎Sec-WebSocket-Key: k⏎Sec-WebSocket-Protocol: a, b⏎⏎"

const switched = "HTTP/1.1 101 Switching Protocols⏎Upgrade: websocket⏎Connection: Upgrade⏎Sec-WebSocket-Accept: a⏎⏎"

// An upgrade is passed on, with frames that come in one piece with either head, and half closed when one side is.
func TestUpgrades(t *testing.T) {
	c := newChain(t, "")
	c.origin.plays(t, func(p *peer) {
		head := p.head()
		if got := unmarked(head); without(got, "Connection") != without(upgrade, "Connection") || strings.Join(values(got, "Connection"), "") != "Upgrade" {
			t.Errorf("the origin heard %q, want %q", got, upgrade)
		}
		p.say(switched + "\x81\x05hello")
		p.hears("\x81\x83early")
		p.hears("frame")
		p.ends()
		p.say("bye")
	})
	p := c.dial(t)
	p.say(upgrade + "\x81\x83early")
	if got := p.head(); without(got, "Connection") != without(switched, "Connection") || strings.Join(values(got, "Connection"), "") != "Upgrade" {
		t.Errorf("the caller got %q, want %q", got, switched)
	}
	p.hears("\x81\x05hello")
	p.say("frame")
	harness.Must(t, p.Conn.(*net.TCPConn).CloseWrite())
	p.hears("bye")
	p.ends()
}

// A refused upgrade is an ordinary reply, and the connection goes on.
func TestARefusedUpgradeIsAnOrdinaryReply(t *testing.T) {
	c := newChain(t, "")
	for _, reply := range []string{ok, "HTTP/1.1 400 Bad Request⏎Content-Length: 2⏎⏎no", "HTTP/1.1 404 Not Found⏎Transfer-Encoding: chunked⏎⏎2⏎no⏎0⏎⏎"} {
		c.answers(t, reply)
		p := c.dial(t)
		for range 2 {
			p.say(upgrade)
			p.hears(reply)
		}
	}
}

func TestAnUnaskedSwitchOfProtocolsIsAFaultOfTheOrigin(t *testing.T) {
	c := newChain(t, "")
	c.answers(t, switched)
	p := c.dial(t)
	p.say("GET / HTTP/1.1⏎Host: shop⏎⏎")
	if got := p.reply("GET"); statusOf(got) != "502" || strings.Join(values(got, "X-Graylane-Error"), " ") != "bad_reply" {
		t.Errorf("got %q, want 502 for bad_reply", got)
	}
}

// An origin that hangs up in the middle of a tunnel takes the caller with it, and the other way round.
func TestTheEndOfATunnelReachesTheOtherSide(t *testing.T) {
	c := newChain(t, "")
	request := "CONNECT " + c.origin.address() + " HTTP/1.1⏎Host: h⏎⏎"

	c.origin.plays(t, func(p *peer) { p.say("x") })
	p := c.dial(t)
	p.say(request)
	p.hears(established + "x")
	p.giveTime(soon)
	p.ends()

	gone := make(chan struct{})
	c.origin.plays(t, func(p *peer) {
		p.say("x")
		_, _ = p.rest()
		close(gone)
	})
	p = c.dial(t)
	p.say(request)
	p.hears(established + "x")
	harness.Must(t, p.Close())
	if took := await(t, gone); took > soon {
		t.Errorf("the origin noticed after %v", took)
	}
}
