package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"time"

	"graylane/internal/http1"
)

// dialer returns the way to connect to endpoints that refuses to connect to the
// given listeners of this sidecar: the request would come back to us for ever.
func dialer(own []net.Addr) func(ctx context.Context, addr string) (net.Conn, error) {
	d := net.Dialer{
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 30 * time.Second, Interval: 10 * time.Second, Count: 6},
		// The address is resolved by now, so that no name leads around the guard.
		Control: func(_, address string, _ syscall.RawConn) error {
			to, err := netip.ParseAddrPort(address)
			if err != nil {
				return fmt.Errorf("reading the address to connect to: %w", err)
			}
			for _, addr := range own {
				if leadsTo(to, addr) {
					return &http1.Error{Op: "connect", Addr: address, Reason: "loop", Err: errLoop}
				}
			}
			return nil
		},
	}
	d.SetMultipathTCP(false)
	return func(ctx context.Context, addr string) (net.Conn, error) { return d.DialContext(ctx, "tcp", addr) }
}

var errLoop = errors.New("the address is this sidecar's own")

// leadsTo reports whether a connection to the address would arrive at the
// listener: the same port, and the same address or one that the listener takes
// together with all others of this machine.
func leadsTo(to netip.AddrPort, listener net.Addr) bool {
	tcp, ok := listener.(*net.TCPAddr)
	if !ok || int(to.Port()) != tcp.Port {
		return false
	}
	at, ip := tcp.AddrPort().Addr().Unmap(), to.Addr().Unmap()
	return ip == at || ip.IsUnspecified() || at.IsUnspecified() && isOurs(ip)
}

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
