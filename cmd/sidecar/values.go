package main

import (
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A host rule says which hosts a listener may have, and in words.
type hostRule struct {
	allows func(host netip.Addr) bool
	words  string
}

// hosts of listeners that other pods reach.
func anyHost() hostRule {
	return hostRule{func(netip.Addr) bool { return true }, "addresses such as :15006 or 10.0.0.1:15006"}
}

// loopbackHost is for listeners that trust whoever connects. The words name the
// default of the flag.
func loopbackHost(name, or string) hostRule {
	example := ""
	for _, f := range flagTable() {
		if f.name == name {
			example = strings.ReplaceAll(f.fallback, ",", " or ")
		}
	}
	return hostRule{
		func(host netip.Addr) bool { return host.Unmap().IsLoopback() },
		"loopback addresses such as " + example + ", or it is " + or,
	}
}

// addresses reads what to bind: host:port, the host an IP address, localhost for
// 127.0.0.1, or none, which is all of them and no loopback address. Port 0 is any free one.
func (s *sources) addresses(name string, rule hostRule) []string {
	list := s.list(name)
	if len(list) == 0 {
		s.fault(name, rule.words)
	}
	for i, item := range list {
		if port, ok := strings.CutPrefix(item, "localhost:"); ok {
			list[i] = "127.0.0.1:" + port // a name that resolves otherwise would open the port to others
		}
		ap, err := parseListen(list[i])
		if err != nil || !rule.allows(ap.Addr()) {
			s.faultIn(name, item, rule.words)
		}
	}
	return list
}

// optional reads what to bind, which may be nothing.
func (s *sources) optional(name string, rule hostRule) []string {
	if len(s.list(name)) == 0 {
		return nil
	}
	return s.addresses(name, rule)
}

// servers reads IP addresses of name servers, with their port or without one.
func (s *sources) servers(name string) []string {
	var list []string
	for _, item := range s.list(name) {
		addr, err := netip.ParseAddrPort(item)
		if ip, ipErr := netip.ParseAddr(item); ipErr == nil {
			addr, err = netip.AddrPortFrom(ip, 53), nil
		}
		if err != nil || addr.Port() == 0 {
			s.faultIn(name, item, "IP addresses such as 10.96.0.10 or 127.0.0.1:5353")
		}
		list = append(list, addr.String())
	}
	return list
}

// parseListen gives the unspecified IPv6 address, which Go binds for both
// protocols, where addr has no host.
func parseListen(addr string) (netip.AddrPort, error) {
	if strings.HasPrefix(addr, ":") {
		addr = "[::]" + addr
	}
	return netip.ParseAddrPort(addr)
}

// peer reads where to dial: the host an IP address or a name, the port a number.
func (s *sources) peer(name string) string {
	addr := s.text(name)
	host, port, err := net.SplitHostPort(addr)
	number, portErr := strconv.ParseUint(port, 10, 16)
	if err != nil || host == "" || portErr != nil || number == 0 {
		s.fault(name, "an address such as 127.0.0.1:8080")
	}
	return addr
}

func noWordLetter(r rune) bool {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', strings.ContainsRune("-_./", r):
		return false
	}
	return true
}

// word reads a name that goes into logs and metrics.
func (s *sources) word(name string) string {
	word := s.text(name)
	if len(word) > 253 || strings.ContainsFunc(word, noWordLetter) {
		s.fault(name, "at most 253 letters, digits and -_./")
	}
	return word
}

// ports reads a list of ports, which may be empty.
func (s *sources) ports(name string) []uint16 {
	var ports []uint16
	for _, item := range s.list(name) {
		port, err := strconv.ParseUint(item, 10, 16)
		if err != nil || port == 0 {
			s.faultIn(name, item, "a port from 1 to 65535")
		}
		ports = append(ports, uint16(port))
	}
	return ports
}

func (s *sources) bool(name string) bool {
	value, err := strconv.ParseBool(s.text(name))
	if err != nil {
		s.fault(name, "true or false")
	}
	return value
}

func (s *sources) duration(name string, least time.Duration) time.Duration {
	value, err := time.ParseDuration(s.text(name))
	if err != nil || value < least || value > maxTime {
		s.fault(name, fmt.Sprintf("a duration from %v to %v, such as 30s or 5m", least, maxTime))
	}
	return value
}

func (s *sources) number(name string, least, most int) int {
	value, err := strconv.Atoi(s.text(name))
	if err != nil || value < least || value > most {
		s.fault(name, fmt.Sprintf("a number from %d to %d", least, most))
	}
	return value
}

// numberIfAny is number for settings that may be empty: 0.
func (s *sources) numberIfAny(name string, least, most int) int {
	if s.text(name) == "" {
		return 0
	}
	return s.number(name, least, most)
}

// bytes takes a number of bytes, KiB, MiB or GiB.
func (s *sources) bytes(name string, least, most int64) int64 {
	text, shift := s.text(name), 0
	for unit, bits := range map[string]int{"KiB": 10, "MiB": 20, "GiB": 30} {
		if rest, ok := strings.CutSuffix(text, unit); ok {
			text, shift = strings.TrimSpace(rest), bits
		}
	}
	value, err := strconv.ParseInt(text, 10, 64)
	if err != nil || value > most>>shift || value<<shift < least {
		s.fault(name, fmt.Sprintf("a size from %d to %d bytes, such as 65536, 64KiB or 1MiB", least, most))
	}
	return value << shift
}

func (s *sources) level(name string) slog.Level {
	var level slog.Level
	if err := level.UnmarshalText([]byte(s.text(name))); err != nil {
		s.fault(name, "debug, info, warn or error")
	}
	return level
}

func (s *sources) oneOf(name string, values ...string) string {
	value := s.text(name)
	if !slices.Contains(values, value) {
		s.fault(name, strings.Join(values, " or "))
	}
	return value
}
