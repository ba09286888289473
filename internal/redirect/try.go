package redirect

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"syscall"
	"time"
)

// arrival is how long a connection that was made may take to be accepted: it
// stays inside this machine.
const arrival = 2 * time.Second

// tryBoth tries IPv4 and IPv6, of which the pod has at least one.
func (r Rules) tryBoth(ctx context.Context) error {
	own, err := ownAddresses()
	if err != nil {
		return fmt.Errorf("reading this pod's addresses: %w", err)
	}
	if len(own) == 0 {
		return errors.New("this pod has no address but loopback, so that nothing can be tried: run the check when its network is up")
	}
	for _, addr := range own {
		if err := r.try(ctx, r.target(addr)); err != nil {
			return err
		}
	}
	return nil
}

// ownAddresses gives an address for IPv4 and one for IPv6 by which this pod is
// reached from outside.
func ownAddresses() ([]netip.Addr, error) {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return nil, err
	}
	var own []netip.Addr
	for _, a := range addrs {
		p, err := netip.ParsePrefix(a.String())
		if err != nil || !p.Addr().IsGlobalUnicast() {
			continue
		}
		if !slices.ContainsFunc(own, func(o netip.Addr) bool { return o.Is4() == p.Addr().Is4() }) {
			own = append(own, p.Addr())
		}
	}
	return own, nil
}

// target chooses where to connect to, of the family of own, so that the rules
// apply: own itself if they do, which needs no route and never leaves the pod.
func (r Rules) target(own netip.Addr) netip.AddrPort {
	include, exclude := r.Outbound.Include, r.Outbound.Exclude
	port := uint16(1) // nobody listens there
	if len(include.Ports) > 0 {
		port = include.Ports[0].First
	}
	for slices.ContainsFunc(exclude.Ports, func(p PortRange) bool { return p.First <= port && port <= p.Last }) {
		port++
	}
	addr := own
	if len(include.Interfaces) > 0 {
		addr = nobody(own) // a call to oneself goes through lo, which is not included
	}
	for _, p := range include.Peers {
		if p.Addr().Is4() == own.Is4() {
			addr = p.Addr()
			break
		}
	}
	return netip.AddrPortFrom(addr, port)
}

// nobody gives an address that is for documentation (RFC 5737, RFC 3849).
func nobody(like netip.Addr) netip.Addr {
	if like.Is4() {
		return netip.AddrFrom4([4]byte{192, 0, 2, 1})
	}
	return netip.AddrFrom16([16]byte{0x20, 0x01, 0x0d, 0xb8, 15: 1})
}

// try makes one connection and sees it arrive where the sidecar listens. If a
// sidecar does already, that the connection is made is proof enough: nobody
// listens at the target.
func (r Rules) try(ctx context.Context, target netip.AddrPort) error {
	ctx, cancel := context.WithTimeout(ctx, arrival)
	defer cancel()
	listener, err := listenLoopback(ctx, target.Addr(), r.Outbound.Port)
	if err != nil {
		return err
	}
	if listener != nil {
		defer listener.Close()
	}

	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", target.String())
	if listener == nil && errors.Is(err, syscall.ECONNRESET) {
		return nil // the sidecar took it, and found nobody at the target
	}
	if err != nil {
		return fmt.Errorf("a connection to %s was not brought to port %d: %w: %s", target, r.Outbound.Port, err,
			"is this the sidecar's user, or does another table (`nft list ruleset`) accept or map it first?")
	}
	defer conn.Close()
	if listener == nil {
		return nil
	}
	if err := arrives(listener, conn.LocalAddr()); err != nil {
		return fmt.Errorf("a connection to %s was made but did not arrive at port %d: %w", target, r.Outbound.Port, err)
	}
	return nil
}

// listenLoopback listens where the sidecar does; nil if somebody does already.
func listenLoopback(ctx context.Context, family netip.Addr, port uint16) (*net.TCPListener, error) {
	loopback := netip.AddrFrom4([4]byte{127, 0, 0, 1})
	if family.Is6() {
		loopback = netip.IPv6Loopback()
	}
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", netip.AddrPortFrom(loopback, port).String())
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("listening where the sidecar will: %w", err)
	}
	return l.(*net.TCPListener), nil
}

// arrives accepts until the connection with that address comes.
func arrives(l *net.TCPListener, caller net.Addr) error {
	if err := l.SetDeadline(time.Now().Add(arrival)); err != nil {
		return err
	}
	for {
		conn, err := l.Accept()
		if err != nil {
			return err
		}
		from := conn.RemoteAddr().String()
		if err := conn.Close(); err != nil {
			return err
		}
		if from == caller.String() {
			return nil
		}
	}
}
