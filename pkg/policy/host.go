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
// compared in: lower-case, without trailing dot. It has room of its own, so
// that taking one apart does not allocate.
type authority struct {
	name    [maxHost]byte
	port    [maxPort]byte
	nameLen int // 0: it names no host
	portLen int
}

// set takes sent apart.
func (a *authority) set(sent []byte) {
	a.nameLen, a.portLen = 0, 0
	host, port := splitPort(sent)
	host = bytes.TrimSuffix(host, dot)
	if len(host) > maxHost || len(port) > maxPort {
		return
	}
	for i, c := range host {
		a.name[i] = lower(c)
	}
	a.nameLen = len(host)
	a.portLen = copy(a.port[:], port)
}

func (a *authority) host() []byte { return a.name[:a.nameLen] }

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
	form [len("*") + maxHost + len(":") + maxPort]byte
	from int  // where the rest of the name starts
	wild bool // the rest stands behind a `*`
	bare int  // length of the form without port that comes next; 0: none
}

// start begins the walk for an authority. It leaves the room as it is: a walk
// belongs to a reader and is used again.
func (s *spellings) start(of *authority) {
	s.of, s.from, s.wild, s.bare = of, 0, false, 0
}

// next returns the next form, valid until the call after it, or nil after the
// last.
func (s *spellings) next() []byte {
	if s.bare > 0 {
		form := s.form[:s.bare]
		s.bare = 0
		s.shorten()
		return form
	}
	name := s.of.host()
	if s.from >= len(name) {
		return nil
	}
	form := s.form[:0]
	if s.wild {
		form = append(form, '*')
	}
	form = append(form, name[s.from:]...)
	s.bare = len(form)
	form = append(form, ':')
	return append(form, s.of.port[:s.of.portLen]...)
}

// shorten takes the first label off the rest of the name.
func (s *spellings) shorten() {
	name := s.of.host()
	at := bytes.IndexByte(name[s.from+1:], '.')
	if at < 0 || name[0] == '[' {
		s.from = len(name)
		return
	}
	s.from, s.wild = s.from+1+at, true
}

var (
	dot        = []byte(".")
	portOfHTTP = []byte("80") // what an authority without a port means
)

// hosts maps host names to services.
type hosts map[string]*Service

// find returns the service that claims a.
func (h hosts) find(a *authority) *Service {
	forms := spellings{of: a}
	for form := forms.next(); form != nil; form = forms.next() {
		if s := h[string(form)]; s != nil {
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
