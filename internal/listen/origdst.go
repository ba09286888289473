package listen

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// destinations finds out where connections were going.
type destinations struct {
	told atomic.Bool  // the kernel has told of one
	lost atomic.Int64 // when the last failure was logged, in Unix nanoseconds
}

// of gives where the caller of conn was going before the kernel redirected it
// here, the zero value if nothing redirected it. The error says that it may have
// been redirected but the kernel does not tell where it was going: there is
// nowhere to send it then.
func (d *destinations) of(conn net.Conn) (netip.AddrPort, error) {
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return netip.AddrPort{}, nil // the kernel redirects TCP alone
	}
	here, peer := addrPort(tcp.LocalAddr()), addrPort(tcp.RemoteAddr())
	dst, err := original(tcp, peer.Addr().Is4())
	switch {
	case err == nil && same(dst, here):
		d.told.Store(true)
		return netip.AddrPort{}, nil
	case err == nil:
		d.told.Store(true)
		return dst, nil
	case !untracked(err):
		return netip.AddrPort{}, err
	case d.told.Load():
		// It tracks connections here, so this one was forgotten: reset by its
		// caller meanwhile, or pushed out of a full table.
		return netip.AddrPort{}, err
	case here.Addr().IsLoopback() && !peer.Addr().IsLoopback():
		return netip.AddrPort{}, err // it came by a redirect: no route leads here
	default:
		return netip.AddrPort{}, nil // nothing is tracked, so nothing is redirected
	}
}

// untracked tells that the kernel knows no such connection, or tracks none at all.
func untracked(err error) bool {
	return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOPROTOOPT)
}

// original asks the kernel's connection tracking. An IPv4 caller of a socket for
// both protocols has to be asked for as IPv4: the answer to the other question is
// ENOENT.
func original(conn *net.TCPConn, is4 bool) (netip.AddrPort, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return netip.AddrPort{}, err
	}
	ask := original6
	if is4 {
		ask = original4
	}
	var dst netip.AddrPort
	var asked error
	if err := raw.Control(func(fd uintptr) { dst, asked = ask(int(fd)) }); err != nil {
		return netip.AddrPort{}, err
	}
	if asked != nil {
		return netip.AddrPort{}, fmt.Errorf("asking for the original destination: %w", asked)
	}
	return dst, nil
}

// original4 reads a struct sockaddr_in: family, port, address, in 16 bytes, into
// the one struct of package unix for getsockopt whose first 16 bytes are plain.
func original4(fd int) (netip.AddrPort, error) {
	m, err := unix.GetsockoptIPv6Mreq(fd, unix.SOL_IP, unix.SO_ORIGINAL_DST)
	if err != nil {
		return netip.AddrPort{}, err
	}
	b := m.Multiaddr
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte(b[4:8])), binary.BigEndian.Uint16(b[2:4])), nil
}

// original6 reads a struct sockaddr_in6, which the struct for MTUs begins with.
func original6(fd int) (netip.AddrPort, error) {
	m, err := unix.GetsockoptIPv6MTUInfo(fd, unix.SOL_IPV6, unix.SO_ORIGINAL_DST)
	if err != nil {
		return netip.AddrPort{}, err
	}
	addr := netip.AddrFrom16(m.Addr.Addr)
	if addr.IsLinkLocalUnicast() && m.Addr.Scope_id != 0 {
		addr = addr.WithZone(strconv.FormatUint(uint64(m.Addr.Scope_id), 10))
	}
	port := binary.NativeEndian.AppendUint16(nil, m.Addr.Port) // it is in network order
	return netip.AddrPortFrom(addr, binary.BigEndian.Uint16(port)), nil
}

// same ignores the zone of a link-local address, which the kernel numbers and
// package net names.
func same(a, b netip.AddrPort) bool {
	return a.Port() == b.Port() && a.Addr().WithZone("") == b.Addr().WithZone("")
}

// addrPort drops what dresses an IPv4 address up as IPv6.
func addrPort(a net.Addr) netip.AddrPort {
	ap := a.(*net.TCPAddr).AddrPort()
	return netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port())
}

// warn logs that a connection was closed, once in logEvery at most: a port scan
// must not fill the log.
func (s *Set) warn(conn net.Conn, err error) {
	now := time.Now()
	before := s.destinations.lost.Load()
	if now.Sub(time.Unix(0, before)) < logEvery || !s.destinations.lost.CompareAndSwap(before, now.UnixNano()) {
		return
	}
	s.log().Warn("closed a connection: it may have been redirected, but not from where", "peer", conn.RemoteAddr().String(), "error", err)
}
