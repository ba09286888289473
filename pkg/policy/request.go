package policy

import (
	"net/netip"
	"time"
)

// Headers gives the header fields of a request.
type Headers interface {
	// Get returns the value of the first field line with that name, in any
	// case, or nil if there is none. It must not allocate.
	Get(name string) []byte
	// Values appends the values of all field lines with that name to dst, in
	// order. It must not allocate where dst has room.
	Values(dst [][]byte, name string) [][]byte
}

// Request is what rules read. All byte slices belong to the caller; no
// reference to them is kept once a call returns.
type Request struct {
	Method  []byte     // as sent
	Host    []byte     // authority that the caller named, with its port if it had one
	Path    []byte     // as sent, without the query
	Query   []byte     // as sent, without the '?'
	Peer    netip.Addr // who connected to us
	TraceID []byte     // id of the trace, nil if there is none
	Headers Headers    // nil: no header fields

	// Now is the time of the request, for `active` and `ramp`.
	Now time.Time
	// Rand gives the random number behind a share without `by`; nil means
	// math/rand/v2's Uint64.
	Rand func() uint64
}
