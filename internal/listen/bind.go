package listen

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"time"
)

// Bind listens on every address, or on none: then the error names each address
// that failed, with its port, why, and what can be done. An address is host:port;
// without a host it is every address of the machine, IPv4 and IPv6, while 0.0.0.0
// is those of IPv4. It matches syscall.EADDRINUSE and the like.
//
// Where the machine has no IPv6, an IPv6 address is skipped (see Set.Skipped),
// provided that another address of the list was bound.
//
// Connections have TCP_NODELAY set, and are probed after 30 s of silence, every
// 10 s, so that a peer that vanished is noticed after 90 s.
func Bind(ctx context.Context, addrs []string) (*Set, error) {
	var (
		bound           []listener
		skipped, failed []error
	)
	for _, addr := range addrs {
		l, err := bind(ctx, addr)
		switch {
		case err == nil:
			bound = append(bound, l)
		case noIPv6(addr, err):
			skipped = append(skipped, explain(addr, err))
		default:
			failed = append(failed, explain(addr, err))
		}
	}
	if len(bound) == 0 {
		failed = append(failed, skipped...)
	}
	if len(failed) > 0 {
		closeAll(bound)
		return nil, errors.Join(failed...)
	}
	return newSet(bound, skipped), nil
}

func bind(ctx context.Context, addr string) (listener, error) {
	config := net.ListenConfig{KeepAliveConfig: net.KeepAliveConfig{
		Enable: true, Idle: 30 * time.Second, Interval: 10 * time.Second, Count: 6,
	}}
	// Go listens for multipath TCP by default, whose sockets tell no original
	// destination and cannot be spliced.
	config.SetMultipathTCP(false)
	network := "tcp"
	if ap, err := netip.ParseAddrPort(addr); err == nil && ap.Addr().Is4() {
		network = "tcp4" // by "tcp" 0.0.0.0 is [::]
	}
	l, err := config.Listen(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return l.(*net.TCPListener), nil
}

// noIPv6 reports whether addr failed because this machine has no IPv6: built
// without it, or switched off by sysctl, which takes ::1 away.
func noIPv6(addr string, err error) bool {
	ap, parseErr := netip.ParseAddrPort(addr)
	if parseErr != nil || !ap.Addr().Is6() {
		return false
	}
	return errors.Is(err, syscall.EAFNOSUPPORT) ||
		ap.Addr().IsLoopback() && errors.Is(err, syscall.EADDRNOTAVAIL)
}

// explain says what went wrong with addr and what the reader can do. It drops the
// layers of net, which name the address again.
func explain(addr string, err error) error {
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		return fmt.Errorf("cannot listen on %s: %w", addr, err)
	}
	hint := ""
	switch errno {
	case syscall.EADDRINUSE:
		hint = ": is another sidecar running?"
	case syscall.EACCES:
		hint = ": ports below 1024 need CAP_NET_BIND_SERVICE, choose a higher one"
	case syscall.EADDRNOTAVAIL:
		hint = ": no interface of this machine has it"
	case syscall.EAFNOSUPPORT:
		hint = ": this machine has no IPv6"
	}
	return fmt.Errorf("cannot listen on %s: %w%s", addr, errno, hint)
}
