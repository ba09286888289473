package redirect

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// ParsePort reads 80 or 8000-8080.
func ParsePort(s string) (PortRange, error) {
	first, last, isRange := strings.Cut(s, "-")
	if !isRange {
		last = first
	}
	from, err1 := strconv.ParseUint(first, 10, 16)
	to, err2 := strconv.ParseUint(last, 10, 16)
	if err1 != nil || err2 != nil || from == 0 || from > to {
		return PortRange{}, fmt.Errorf("got %q, want a port such as 80, or a range such as 8000-8080", s)
	}
	return PortRange{uint16(from), uint16(to)}, nil
}

// ParsePeer reads a prefix, 10.0.0.0/8, or one address. Bits behind the length
// are an error: they mostly are a slip.
func ParsePeer(s string) (netip.Prefix, error) {
	want := fmt.Errorf("got %q, want an address such as 10.1.2.3, or a prefix such as 10.0.0.0/8 or fd00::/8", s)
	if addr, err := netip.ParseAddr(s); err == nil && addr.Zone() == "" && !addr.Is4In6() {
		return netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	p, err := netip.ParsePrefix(s)
	if err != nil || p.Addr().Is4In6() {
		return netip.Prefix{}, want
	}
	if p != p.Masked() {
		return netip.Prefix{}, fmt.Errorf("got %q, want %s: the address has bits behind the prefix's length", s, p.Masked())
	}
	return p, nil
}

// ParseInterface reads the name of a network interface.
func ParseInterface(s string) (string, error) {
	if s == "" || len(s) >= unix.IFNAMSIZ || strings.ContainsAny(s, "/*\" \t\n") {
		return "", fmt.Errorf("got %q, want the name of an interface such as eth0", s)
	}
	return s, nil
}
