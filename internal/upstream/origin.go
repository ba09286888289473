package upstream

import "graylane/internal/http1"

// Origin is one address that requests are sent to, with its connections.
type Origin struct {
	http1 *http1.Origin
}

// NewOrigin connects to nothing yet.
func NewOrigin(addr string, cfg http1.OriginConfig) *Origin {
	return &Origin{http1: http1.NewOrigin(addr, cfg)}
}

// Addr is the address that NewOrigin was given.
func (o *Origin) Addr() string { return o.http1.Addr() }

// Close closes the idle connections; busy ones end with their requests. Requests
// may still be sent.
func (o *Origin) Close() { o.http1.Close() }
