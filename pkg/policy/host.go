package policy

import (
	"bytes"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// maxHost is the longest host name in bytes (RFC 1035 section 2.3.4).
const maxHost = 253

// maxPort is the longest port in digits.
const maxPort = len("65535")

// authority is a host as a caller named it, in the form that hosts are
// compared in: lower-case, without trailing dot, with a port. It has room of its
// own, so that taking one apart does not allocate.
type authority struct {
	text    [maxHost + len(":") + maxPort]byte
	nameLen int // 0: it names no host
	textLen int
}

// set takes sent apart.
func (a *authority) set(sent []byte) {
	a.nameLen, a.textLen = 0, 0
	host, port := splitPort(sent)
	host = bytes.TrimSuffix(host, dot)
	if len(host) > maxHost || len(port) > maxPort {
		return
	}
	a.nameLen = copy(a.text[:], host)
	for i, c := range a.host() {
		if 'A' <= c && c <= 'Z' {
			a.text[i] = lower(c)
		}
	}
	a.textLen = len(append(append(a.text[:a.nameLen], ':'), port...))
}

func (a *authority) host() []byte { return a.text[:a.nameLen] }

// splitPort cuts the port off an authority; without one it is 80.
func splitPort(sent []byte) (host, port []byte) {
	at := bytes.LastIndexByte(sent, ':')
	if at < 0 || bytes.IndexByte(sent[at:], ']') >= 0 {
		return sent, portOfHTTP
	}
	if at == len(sent)-1 {
		return sent[:at], portOfHTTP // RFC 3986 section 3.2.3: an empty port is the default
	}
	return sent[:at], sent[at+1:]
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// spellings walks through the forms in which a policy may name an authority,
// the one that wins first: the full name with and without port, then wildcards
// from the longest.
type spellings struct {
	of   *authority
	from int  // where the rest of the name starts; behind 0 it stands for `*` and the rest
	bare bool // the form without port is next
	room [len("*") + maxHost + len(":") + maxPort]byte
}

// start begins the walk for an authority. It leaves the room as it is: a walk
// belongs to a reader and is used again.
func (s *spellings) start(of *authority) { s.of, s.from, s.bare = of, 0, false }

// next returns the next form that values of known may be, valid until the call
// after it, or nil after the last.
func (s *spellings) next(known *shapes) []byte {
	for s.from < s.of.nameLen {
		rest := s.of.text[s.from:s.of.textLen]
		if s.bare {
			rest = s.of.text[s.from:s.of.nameLen]
		}
		full := s.from == 0
		s.step(known)
		switch {
		case full && known.fit(rest[0], len(rest)):
			return rest
		case !full && known.fit('*', len("*")+len(rest)):
			return append(append(s.room[:0], '*'), rest...)
		}
	}
	return nil
}

// step goes on to the form without port, and from that to the next wildcard: the
// first label is taken off the rest of the name.
func (s *spellings) step(known *shapes) {
	if s.bare = !s.bare; s.bare {
		return
	}
	name := s.of.host()
	at := -1
	if known.hasFirst('*') && name[0] != '[' {
		at = bytes.IndexByte(name[s.from+1:], '.')
	}
	if at < 0 {
		s.from = len(name)
		return
	}
	s.from += 1 + at
}

var (
	dot        = []byte(".")
	portOfHTTP = []byte("80") // what an authority without a port means
)

// hosts maps host names to services.
type hosts struct {
	services map[string]*Service
	shapes   shapes
}

// claim gives the host to s, unless another service has it.
func (h *hosts) claim(host string, s *Service) {
	if h.services[host] != nil {
		return
	}
	if h.services == nil {
		h.services = make(map[string]*Service)
	}
	h.services[host] = s
	h.shapes.add([]byte(host))
}

// find returns the service that claims a.
func (h *hosts) find(a *authority) *Service {
	forms := spellings{of: a}
	for form := forms.next(&h.shapes); form != nil; form = forms.next(&h.shapes) {
		if s := h.services[string(form)]; s != nil {
			return s
		}
	}
	return nil
}

// parseHost returns the form in which a host of a policy is compared: a name,
// `*.` and a name, or an address, with or without a port.
func parseHost(written string) (string, error) {
	if net6, err := netip.ParseAddr(written); err == nil && net6.Is6() {
		return "", fmt.Errorf("want [%s] in brackets", written)
	}
	if strings.ContainsAny(written, "/?#@") {
		return "", fmt.Errorf("want a host, without scheme and path")
	}
	host, port, err := cutPort(written)
	if err != nil {
		return "", err
	}
	if inner, ok := strings.CutPrefix(host, "["); ok {
		addr, err := netip.ParseAddr(strings.TrimSuffix(inner, "]"))
		if err != nil || !strings.HasSuffix(inner, "]") || !addr.Is6() || addr.Zone() != "" {
			return "", fmt.Errorf("want an IPv6 address in brackets")
		}
		return "[" + addr.String() + "]" + port, nil
	}
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	below, wild := strings.CutPrefix(name, "*.")
	if err := checkName(below); err != nil {
		return "", err
	}
	if wild {
		return "*." + below + port, nil
	}
	return name + port, nil
}

// cutPort cuts `:port` off a host as a policy writes it.
func cutPort(written string) (host, port string, err error) {
	at := strings.LastIndexByte(written, ':')
	if at < 0 || strings.Contains(written[at:], "]") {
		return written, "", nil
	}
	n, err := strconv.ParseUint(written[at+1:], 10, 16)
	if err != nil || n == 0 {
		return "", "", fmt.Errorf("want a port from 1 to 65535 after the colon")
	}
	return written[:at], ":" + strconv.FormatUint(n, 10), nil
}

// checkName tells what is wrong with a host name. Underscores are allowed:
// names in docker-compose have them.
func checkName(name string) error {
	if len(name) > maxHost {
		return fmt.Errorf("want at most %d characters", maxHost)
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > 63 {
			return fmt.Errorf("want labels of 1 to 63 characters between the dots")
		}
		for i := range len(label) {
			c := label[i]
			switch {
			case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '-', c == '_':
			case c == '*':
				return fmt.Errorf("want * as the first label only, with a name after it: *.shop.svc")
			case c >= 0x80:
				return fmt.Errorf("want the ASCII form of the name (xn--...)")
			default:
				return fmt.Errorf("want letters, digits, '-', '_' and dots")
			}
		}
	}
	return nil
}
