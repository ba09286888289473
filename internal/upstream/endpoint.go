package upstream

import (
	"bytes"
	"net"
	"strings"
	"sync/atomic"

	"graylane/internal/http1"
)

// Endpoint is one address that serves versions.
type Endpoint struct {
	Address string // as the policy names it

	origin *http1.Origin // nil where the address has no port
	host   string        // where it has none: what stands before the port
	byPort *origins      // and one origin for each port that callers name

	inFlight           atomic.Int64
	requests, failures atomic.Uint64
}

func newEndpoint(address string, t *Table) *Endpoint {
	ep := &Endpoint{Address: address}
	if _, _, err := net.SplitHostPort(address); err == nil {
		ep.origin = http1.NewOrigin(address, t.cfg)
		return ep
	}
	ep.host, ep.byPort = address, &t.origins
	if strings.Contains(address, ":") && !strings.HasPrefix(address, "[") {
		ep.host = "[" + address + "]" // an IPv6 address, which a port may follow in brackets only
	}
	return ep
}

// Begin counts one request to the endpoint and returns where to send it. The
// authority is what the caller named: its port, 80 if it has none, is that of an
// endpoint without one. Every Begin is followed by one End.
func (e *Endpoint) Begin(authority []byte) *http1.Origin {
	e.inFlight.Add(1)
	e.requests.Add(1)
	if e.origin != nil {
		return e.origin
	}
	var scratch [maxAuthority]byte
	return e.byPort.get(appendPort(append(scratch[:0], e.host...), authority))
}

// End says how the request that Begin counted ended.
func (e *Endpoint) End(err error) {
	e.inFlight.Add(-1)
	if err != nil {
		e.failures.Add(1)
	}
}

func (e *Endpoint) retire() {
	if e.origin != nil {
		e.origin.Close()
	}
}

// maxAuthority is a DNS name of 253 bytes, a colon and five digits, rounded up.
const maxAuthority = 264

// appendPort appends the authority's port to dst, with its colon. An authority
// without one means 80, since what arrives here is plain HTTP (RFC 9110,
// section 4.2.1).
func appendPort(dst, authority []byte) []byte {
	if i := portAt(authority); i >= 0 {
		return append(dst, authority[i:]...)
	}
	return append(dst, ":80"...)
}

// portAt returns where the colon and port of an authority begin, -1 if it has no
// port. The colons of a bracketed IPv6 address begin none.
func portAt(authority []byte) int {
	i := bytes.LastIndexByte(authority, ':')
	if i < 0 || i == len(authority)-1 || bytes.IndexByte(authority[i:], ']') >= 0 {
		return -1
	}
	return i
}
