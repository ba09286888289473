package main

import (
	"errors"
	"net"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"
)

func TestAConnectionThatCameBackIsNoticedByTheSecondOfItsEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // for its clock
		from, to := netip.MustParseAddrPort("10.1.0.2:40000"), netip.MustParseAddrPort("10.96.0.1:80")
		made := func(g *guard) error { return g.made(from, to) }
		arrived := func(g *guard) error { return g.arrived(from, to) }
		for _, c := range []struct {
			name          string
			first, second func(*guard) error
			between       time.Duration
			loop          bool
		}{
			{"made and then arrived", made, arrived, 0, true},
			{"arrived and then made", arrived, made, 0, true},
			{"made, and arrived a turn later", made, arrived, turn + time.Millisecond, true},
			{"made long before", made, arrived, 3 * turn, false},
			{"arrived twice: the app's", arrived, arrived, 0, false},
			{"made twice", made, made, 0, false},
		} {
			g := &guard{}
			if err := c.first(g); err != nil {
				t.Errorf("%s: the first is refused: %v", c.name, err)
			}
			time.Sleep(c.between / 2)
			if err := g.made(to, from); err != nil { // others come between
				t.Errorf("%s: another is refused: %v", c.name, err)
			}
			time.Sleep(c.between / 2)
			if err := c.second(g); errors.Is(err, errLoop) != c.loop {
				t.Errorf("%s: got %v, want refused: %v", c.name, err, c.loop)
			}
		}
	})
}

func TestCallsToOurOwnListenersAreRefused(t *testing.T) {
	g := &guard{own: []net.Addr{
		&net.TCPAddr{IP: net.ParseIP("127.0.0.1"), Port: 15001}, &net.TCPAddr{IP: net.IPv6unspecified, Port: 15006},
		&net.TCPAddr{IP: net.IPv4zero.To4(), Port: 15021},
	}}
	peer := netip.MustParseAddrPort("10.1.0.2:40000")
	for dst, loop := range map[string]bool{
		"127.0.0.1:15001": true, "127.0.0.1:15006": true, "[::1]:15006": true, "0.0.0.0:15001": true,
		"127.0.0.1:15021": true, "[::ffff:127.0.0.1]:15021": true, "[::1]:15021": false,
		"10.1.0.3:15006": false, "127.0.0.2:15001": false, "10.1.0.3:80": false, "127.0.0.1:80": false,
	} {
		if err := g.arrived(peer, netip.MustParseAddrPort(dst)); errors.Is(err, errLoop) != loop {
			t.Errorf("%s: got %v, want refused: %v", dst, err, loop)
		}
	}
}
