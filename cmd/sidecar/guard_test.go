package main

import (
	"errors"
	"net"
	"net/netip"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

func TestAConnectionThatCameBackIsNoticedByTheSecondOfItsEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // for its clock
		from, to := netip.MustParseAddrPort("10.1.0.2:40000"), netip.MustParseAddrPort("10.96.0.1:80")
		made := func(g *guard, conn syscall.Conn) error { return g.made(conn, from, to) }
		arrived := func(g *guard, conn syscall.Conn) error { return g.arrived(conn, from, to) }
		for _, c := range []struct {
			name          string
			first, second func(*guard, syscall.Conn) error
			between       time.Duration
			closed        bool // the first, before the second
			loop          bool
		}{
			{"made and then arrived", made, arrived, 0, false, true},
			{"arrived and then made", arrived, made, 0, false, true},
			{"made, and arrived a turn later", made, arrived, turn + time.Millisecond, false, true},
			{"made long before", made, arrived, 3 * turn, false, false},
			{"arrived twice: the app's", arrived, arrived, 0, false, false},
			{"made twice", made, made, 0, false, false},
			{"made and closed: the app has its port now", made, arrived, 0, true, false},
			{"arrived and closed: we have the app's port now", arrived, made, 0, true, false},
			{"closed a turn before", arrived, made, turn + time.Millisecond, true, false},
		} {
			g := &guard{}
			first := &end{}
			if err := c.first(g, first); err != nil {
				t.Errorf("%s: the first is refused: %v", c.name, err)
			}
			first.closed = c.closed
			time.Sleep(c.between / 2)
			if err := g.made(&end{}, to, from); err != nil { // others come between
				t.Errorf("%s: another is refused: %v", c.name, err)
			}
			time.Sleep(c.between / 2)
			if err := c.second(g, &end{}); errors.Is(err, errLoop) != c.loop {
				t.Errorf("%s: got %v, want refused: %v", c.name, err, c.loop)
			}
		}
	})
}

// end is one end of a connection, open or closed.
type end struct {
	syscall.RawConn
	closed bool
}

func (e *end) SyscallConn() (syscall.RawConn, error) { return e, nil }

func (e *end) Control(f func(fd uintptr)) error {
	if e.closed {
		return net.ErrClosed
	}
	f(0)
	return nil
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
		if err := g.arrived(&end{}, peer, netip.MustParseAddrPort(dst)); errors.Is(err, errLoop) != loop {
			t.Errorf("%s: got %v, want refused: %v", dst, err, loop)
		}
	}
}
