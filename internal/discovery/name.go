package discovery

import (
	"net"
	"strconv"
	"strings"
)

func readPlace(p Place) place {
	read := place{service: p.Service}
	for _, text := range p.Names {
		if n, ok := readName(text); ok {
			read.names = append(read.names, n)
		}
	}
	return read
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
