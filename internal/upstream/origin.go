package upstream

import (
	"graylane/internal/http1"
	"graylane/internal/http2"
)

// Origin is one address that requests are sent to, in the protocol in which they
// came, with its connections.
type Origin struct {
	http1 *http1.Origin
	http2 *http2.Origin
	raw   *http1.Origin // for tunnels, which are made of bytes
}

// NewOrigin connects to nothing yet.
func NewOrigin(addr string, cfg http1.OriginConfig) *Origin {
	plain := http1.NewOrigin(addr, cfg)
	return &Origin{http1: plain, http2: http2.NewOrigin(addr, cfg), raw: plain}
}

// NewH2COrigin is NewOrigin for an address that speaks HTTP/2 alone: requests of
// HTTP/1 are sent as HTTP/2.
func NewH2COrigin(addr string, cfg http1.OriginConfig) *Origin {
	to := http2.NewOrigin(addr, cfg)
	bridged := http1.NewOrigin(addr, to.HTTP1Config(cfg))
	cfg.MaxIdle = -1 // nobody could use what a tunnel leaves
	return &Origin{http1: bridged, http2: to, raw: http1.NewOrigin(addr, cfg)}
}

// The protocols that requests of HTTP/1 are sent in. Those of HTTP/2 are sent as
// HTTP/2 always.
const (
	ProtocolHTTP1 = "http1"
	ProtocolH2C   = "h2c" // HTTP/2 without TLS
)

// originConfig says how to speak to what a version, or a stranger, has as origins.
type originConfig struct {
	http1.OriginConfig
	h2c bool
}

func (c originConfig) origin(addr string) *Origin {
	if c.h2c {
		return NewH2COrigin(addr, c.OriginConfig)
	}
	return NewOrigin(addr, c.OriginConfig)
}

// Addr is the address that NewOrigin was given.
func (o *Origin) Addr() string { return o.http1.Addr() }

// Close closes the idle connections; busy ones end with their requests. Requests
// may still be sent.
func (o *Origin) Close() {
	o.http1.Close()
	o.raw.Close()
	o.http2.Close()
}
