package listen_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"testing"

	"graylane/internal/listen"
	"graylane/test/harness"
)

func TestEveryAddressIsBound(t *testing.T) {
	set := mustBind(t, "127.0.0.1:0", "127.0.0.1:0")
	if got := len(set.Addrs()); got != 2 {
		t.Fatalf("got %d addresses, want 2", got)
	}
	for _, addr := range set.Addrs() {
		conn, err := net.Dial("tcp", addr.String())
		if err != nil {
			t.Fatalf("cannot connect to what was bound: %v", err)
		}
		conn.Close()
	}
}

func TestAnAddressWithoutHostTakesBothProtocols(t *testing.T) {
	set := mustBind(t, ":0")
	port := netip.MustParseAddrPort(set.Addrs()[0].String()).Port()
	hosts := []string{"127.0.0.1"}
	if hasIPv6() {
		hosts = append(hosts, "::1")
	}
	for _, host := range hosts {
		conn, err := net.Dial("tcp", netip.AddrPortFrom(netip.MustParseAddr(host), port).String())
		if err != nil {
			t.Errorf("%s does not reach it: %v", host, err)
			continue
		}
		conn.Close()
	}
}

func TestAllAddressesOfIPv4AreNoneOfIPv6(t *testing.T) {
	set := mustBind(t, "0.0.0.0:0")
	at := netip.MustParseAddrPort(set.Addrs()[0].String())
	if want := netip.IPv4Unspecified(); at.Addr() != want {
		t.Errorf("bound %s, want %s", at.Addr(), want)
	}
	if conn, err := net.Dial("tcp", netip.AddrPortFrom(netip.IPv6Loopback(), at.Port()).String()); err == nil {
		conn.Close()
		t.Error("::1 reaches it")
	}
	conn, err := net.Dial("tcp", netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), at.Port()).String())
	if err != nil {
		t.Fatalf("127.0.0.1 does not reach it: %v", err)
	}
	conn.Close()
}

func TestATakenPortIsNamedAndNothingStaysBound(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	free := harness.FreeAddress(t)

	_, err = listen.Bind(t.Context(), []string{free, taken.Addr().String()})
	if !errors.Is(err, syscall.EADDRINUSE) {
		t.Fatalf("got %v, want an error that is EADDRINUSE", err)
	}
	want := "cannot listen on " + taken.Addr().String() + ": address already in use: is another sidecar running?"
	if err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
	again, err := net.Listen("tcp", free)
	if err != nil {
		t.Fatalf("the address that was free is still bound: %v", err)
	}
	again.Close()
}

func TestEveryFailedAddressIsNamed(t *testing.T) {
	// 192.0.2.0/24 is for documentation (RFC 5737): no interface has it.
	_, err := listen.Bind(t.Context(), []string{"192.0.2.1:15006", "127.0.0.1:http:1", "127.0.0.1:0"})
	if err == nil {
		t.Fatal("got no error")
	}
	for _, want := range []string{
		"cannot listen on 192.0.2.1:15006: cannot assign requested address: no interface of this machine has it",
		"cannot listen on 127.0.0.1:http:1: ",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("got %q, want it to say %q", err, want)
		}
	}
}

func TestIPv6IsSkippedWhereThereIsNone(t *testing.T) {
	set, err := listen.Bind(t.Context(), []string{"127.0.0.1:0", "[::1]:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	want := 1
	if hasIPv6() {
		want = 2
	}
	if got := len(set.Addrs()); got != want {
		t.Errorf("got %d addresses bound, want %d", got, want)
	}
	if got := len(set.Skipped()); got != 2-want {
		t.Errorf("got %d addresses skipped, want %d", got, 2-want)
	}
}

func mustBind(t *testing.T, addrs ...string) *listen.Set {
	t.Helper()
	set, err := listen.Bind(context.Background(), addrs)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(set.Close)
	return set
}

func hasIPv6() bool {
	l, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		return false
	}
	l.Close()
	return true
}
