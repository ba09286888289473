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
func (r Rules) tryBoth(ctx context.Context) (vacant []netip.AddrPort, err error) {
	own, err := ownAddresses()
	if err != nil {
		return nil, fmt.Errorf("reading this pod's addresses: %w", err)
	}
	if len(own) == 0 {
		return nil, errors.New("this pod has no address but loopback, so that nothing can be tried: run the check when its network is up")
	}
	for _, addr := range own {
		sidecar := netip.AddrPortFrom(loopback(addr), r.Outbound.Port)
		alone, err := r.try(ctx, r.target(addr), sidecar)
		if err != nil {
			return nil, err
		}
		if alone {
			vacant = append(vacant, sidecar)
		}
	}
	return vacant, nil
}

func loopback(like netip.Addr) netip.Addr {
	if like.Is6() {
		return netip.IPv6Loopback()
	}
	return netip.AddrFrom4([4]byte{127, 0, 0, 1})
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

// try makes one connection and sees it arrive where the sidecar listens, or where
// try does alone for want of one. If a sidecar listens, that the connection is made is
// proof enough: nobody listens at the target.
func (r Rules) try(ctx context.Context, target, sidecar netip.AddrPort) (alone bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, arrival)
	defer cancel()
	listener, err := listenAt(ctx, sidecar)
	if err != nil {
		return false, err
	}
	if listener != nil {
		defer listener.Close()
	}

	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", target.String())
	if listener == nil && errors.Is(err, syscall.ECONNRESET) {
		return false, nil // the sidecar took it, and found nobody at the target
	}
	if err != nil {
		return false, fmt.Errorf("a connection to %s was not brought to port %d: %w: %s", target, sidecar.Port(), err,
			"is this the sidecar's user, or does another table (`nft list ruleset`) accept or map it first?")
	}
	defer conn.Close()
	if listener == nil {
		return false, nil
	}
	if err := arrives(listener, conn.LocalAddr()); err != nil {
		return false, fmt.Errorf("a connection to %s was made but did not arrive at port %d: %w", target, sidecar.Port(), err)
	}
	return true, nil
}

// listenAt listens where the sidecar does; nil if somebody does already.
func listenAt(ctx context.Context, sidecar netip.AddrPort) (*net.TCPListener, error) {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", sidecar.String())
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
