package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"time"

	"graylane/internal/http1"
)

// guard keeps calls from going round in a circle: those that lead to our own
// listeners, and those that the kernel brings back to us, since it was told to
// leave another user's calls alone than ours.
type guard struct {
	own []net.Addr // the listeners that redirected calls come in at

	mu        sync.Mutex
	now, then rounds // of the last turn and the one before it
	turnedAt  time.Time
}

// rounds is the connections that were made and that arrived, by their ends. Those that are closed meanwhile do not
// count: their ends may be another connection's by now.
type rounds struct{ made, arrived map[ends]syscall.Conn }

type ends struct{ from, to netip.AddrPort }

// turn is how long the ends of a connection are remembered at least: one that
// comes back does so within the time of a handshake.
const turn = 2 * time.Second

var errLoop = errors.New("it leads back to this sidecar")

// arrived notes a redirected connection, and refuses one that is for ourselves or
// that we made.
func (g *guard) arrived(conn syscall.Conn, peer, dst netip.AddrPort) error {
	for _, addr := range g.own {
		if leadsTo(dst, addr) {
			return errLoop
		}
	}
	return g.note(conn, ends{peer, dst}, func(r *rounds) (mine, other map[ends]syscall.Conn) { return r.arrived, r.made })
}

// made notes a connection of ours, and refuses one that has arrived here.
func (g *guard) made(conn syscall.Conn, from, to netip.AddrPort) error {
	return g.note(conn, ends{from, to}, func(r *rounds) (mine, other map[ends]syscall.Conn) { return r.made, r.arrived })
}

// note is asked at both ends of a connection, in either order: the second sees
// what the first has noted.
func (g *guard) note(conn syscall.Conn, e ends, sides func(*rounds) (mine, other map[ends]syscall.Conn)) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if now := time.Now(); g.now.made == nil || now.Sub(g.turnedAt) > turn {
		g.then, g.turnedAt = g.now, now
		g.now = rounds{made: make(map[ends]syscall.Conn), arrived: make(map[ends]syscall.Conn)}
	}
	mine, other := sides(&g.now)
	mine[e] = conn
	_, before := sides(&g.then)
	if isOpen(other[e]) || isOpen(before[e]) {
		return errLoop
	}
	return nil
}

// isOpen reports whether there is a connection that nobody here has closed.
func isOpen(conn syscall.Conn) bool {
	if conn == nil {
		return false
	}
	raw, err := conn.SyscallConn()
	return err == nil && raw.Control(func(uintptr) {}) == nil
}

// dialer returns the way to connect that refuses to connect to the given
// listeners of this sidecar, notices when it was brought back here, and leaves the
// descriptors above the mark alone.
func (g *guard) dialer(own []net.Addr, mark int) func(ctx context.Context, addr string) (net.Conn, error) {
	d := net.Dialer{
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 30 * time.Second, Interval: 10 * time.Second, Count: 6},
		// The address is resolved by now, so that no name leads around the guard.
		Control: func(_, address string, raw syscall.RawConn) error {
			if !below(raw, mark) {
				return syscall.EMFILE
			}
			to, err := netip.ParseAddrPort(address)
			if err != nil {
				return fmt.Errorf("reading the address to connect to: %w", err)
			}
			for _, addr := range own {
				if leadsTo(to, addr) {
					return &http1.Error{Op: "connect", Addr: address, Reason: http1.Loop, Err: errLoop}
				}
			}
			return nil
		},
	}
	d.SetMultipathTCP(false)
	return func(ctx context.Context, addr string) (net.Conn, error) {
		conn, err := d.DialContext(ctx, "tcp", addr)
		if err != nil {
			return nil, err
		}
		if err := g.made(conn.(*net.TCPConn), tcpAddr(conn.LocalAddr()), tcpAddr(conn.RemoteAddr())); err != nil {
			return nil, errors.Join(&http1.Error{Op: "connect", Addr: addr, Reason: http1.Loop, Err: err}, conn.Close())
		}
		return conn, nil
	}
}

// leadsTo reports whether a connection to the address would arrive at the
// listener: the same port, and the same address or one that the listener takes
// together with all others of this machine.
func leadsTo(to netip.AddrPort, listener net.Addr) bool {
	tcp, ok := listener.(*net.TCPAddr)
	if !ok || int(to.Port()) != tcp.Port {
		return false
	}
	at, ip := tcp.AddrPort().Addr().Unmap(), to.Addr().Unmap()
	return ip == at || ip.IsUnspecified() || covers(at, ip) && isOurs(ip)
}

// covers reports whether a listener at all takes what is for one as well: [::]
// does for both protocols, 0.0.0.0 for IPv4.
func covers(all, one netip.Addr) bool { return all.IsUnspecified() && (all.Is6() || one.Is4()) }

// isOurs reports whether the address is one of this machine's.
func isOurs(ip netip.Addr) bool {
	if ip.IsLoopback() {
		return true
	}
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return false // connecting to a stranger by mistake harms less than refusing all
	}
	for _, addr := range addrs {
		if n, ok := addr.(*net.IPNet); ok && n.IP.Equal(net.IP(ip.AsSlice())) {
			return true
		}
	}
	return false
}
