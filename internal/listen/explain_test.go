package listen

import (
	"errors"
	"net"
	"os"
	"syscall"
	"testing"
)

func TestAFailedBindSaysWhatToDo(t *testing.T) {
	tests := []struct {
		addr string
		err  error
		want string
	}{
		{"127.0.0.1:80", bindError(syscall.EACCES), "cannot listen on 127.0.0.1:80: permission denied: ports below 1024 need CAP_NET_BIND_SERVICE, choose a higher one"},
		{"[::1]:15001", bindError(syscall.EAFNOSUPPORT), "cannot listen on [::1]:15001: address family not supported by protocol: this machine has no IPv6"},
		{"127.0.0.1:15001", bindError(syscall.EMFILE), "cannot listen on 127.0.0.1:15001: too many open files"},
		{"nowhere", errors.New("missing port"), "cannot listen on nowhere: missing port"},
	}
	for _, test := range tests {
		if got := explain(test.addr, test.err).Error(); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}

func TestOnlyAMissingIPv6IsSkipped(t *testing.T) {
	tests := []struct {
		name, addr string
		errno      syscall.Errno
		want       bool
	}{
		{"a kernel without IPv6", "[::1]:15001", syscall.EAFNOSUPPORT, true},
		{"a kernel without IPv6, any address", "[::]:15006", syscall.EAFNOSUPPORT, true},
		{"IPv6 switched off by sysctl", "[::1]:15001", syscall.EADDRNOTAVAIL, true},
		{"an address of another machine", "[2001:db8::1]:15006", syscall.EADDRNOTAVAIL, false},
		{"an IPv4 address", "127.0.0.2:15001", syscall.EADDRNOTAVAIL, false},
		{"a taken port", "[::1]:15001", syscall.EADDRINUSE, false},
	}
	for _, test := range tests {
		if got := noIPv6(test.addr, bindError(test.errno)); got != test.want {
			t.Errorf("%s: got %v, want %v", test.name, got, test.want)
		}
	}
}

func bindError(errno syscall.Errno) error {
	return &net.OpError{Op: "listen", Net: "tcp", Err: os.NewSyscallError("bind", errno)}
}
