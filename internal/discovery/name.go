package discovery

import (
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// name is a host or an address, and the port that it stands for.
type name struct {
	host string
	port uint16 // 0: every port
}

// addr gives the address, if the name is one.
func (n name) addr() (netip.Addr, bool) {
	addr, err := netip.ParseAddr(n.host)
	return addr, err == nil
}

func readNames(texts []string) []name {
	names := make([]name, 0, len(texts))
	for _, text := range texts {
		if n, ok := readName(text); ok {
			names = append(names, n)
		}
	}
	return names
}

// readName reads host, host:port, an IPv6 address, or [address]:port. A name with
// a wildcard is none that could be resolved.
func readName(text string) (name, bool) {
	if text == "" || strings.Contains(text, "*") {
		return name{}, false
	}
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		return name{host: strings.Trim(text, "[]")}, true
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil || host == "" {
		return name{}, false
	}
	return name{host: host, port: uint16(number)}, true
}
