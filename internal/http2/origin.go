package http2

import (
	"context"
	"errors"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"

	"graylane/internal/http1"
)

// Origin is one address that requests are sent to. All share as few connections as
// the origin allows; a further one is made when it takes no more streams.
type Origin struct {
	addr string
	cfg  http1.OriginConfig

	foreign atomic.Bool // what the newest connection began with is no HTTP/2

	mu        sync.Mutex
	transport *http.Transport // nil until the first connection
	conns     []*http.ClientConn
	dial      *dial        // under way; nil: none
	bridge    *http.Server // nil until DialHTTP1
}

// dial is a connection that is being made, for all who wait for one.
type dial struct {
	done chan struct{}
	conn *http.ClientConn
	err  *http1.Error
}

// NewOrigin connects to nothing yet. Of cfg it uses the time limits and Dial.
func NewOrigin(addr string, cfg http1.OriginConfig) *Origin {
	return &Origin{addr: addr, cfg: cfg.Filled()}
}

// Addr is the address that NewOrigin was given.
func (o *Origin) Addr() string { return o.addr }

// Close closes the connections that are not used, and the others when their streams
// have ended. Requests may still be sent.
func (o *Origin) Close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, c := range o.conns {
		leave(c)
		c.SetStateHook(leave)
	}
	o.conns = nil
}

func leave(c *http.ClientConn) {
	if c.InFlight() == 0 {
		_ = c.Close() // of a connection without streams
	}
}

// take reserves a stream on a connection. used tells whether the connection may
// have been there before.
func (o *Origin) take(ctx context.Context) (conn *http.ClientConn, used bool, e *http1.Error) {
	used = true
	for dead, rounds := 0, 0; dead < mostDead && rounds < mostRounds; rounds++ {
		conn, d := o.reserve()
		if conn != nil {
			return conn, used, nil
		}
		select {
		case <-d.done:
		case <-ctx.Done():
			return nil, false, &http1.Error{Op: "connect", Addr: o.addr, Reason: http1.CallerGone, Err: ctx.Err()}
		}
		switch {
		case d.err != nil:
			return nil, false, d.err
		case d.conn.Err() != nil:
			dead++
		}
		used = false
	}
	return nil, false, &http1.Error{Op: "send", Addr: o.addr, Reason: http1.OriginClosed, Retryable: true, Err: errNoStream}
}

const (
	mostDead   = 3   // connections in a row may end as soon as they are made
	mostRounds = 256 // times may others be quicker to use what a new connection offers
)

var errNoStream = errors.New("its new connections take no stream")

// reserve takes a stream of a connection that has room, or else sees to it that one
// is made.
func (o *Origin) reserve() (*http.ClientConn, *dial) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.conns = slices.DeleteFunc(o.conns, func(c *http.ClientConn) bool { return c.Err() != nil })
	for _, c := range o.conns {
		if c.Reserve() == nil {
			return c, nil
		}
	}
	if o.dial == nil {
		o.dial = &dial{done: make(chan struct{})}
		go o.connect(o.dial)
	}
	return nil, o.dial
}

// connect makes a connection. It is nobody's alone, so that no caller who leaves
// ends it.
func (o *Origin) connect(d *dial) {
	ctx, cancel := context.WithTimeout(context.Background(), o.cfg.Connect)
	defer cancel()
	conn, err := o.newTransport().NewClientConn(ctx, "http", o.addr)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.dial = nil
	if err == nil {
		d.conn = conn
		o.conns = append(o.conns, conn)
	} else {
		d.err = http1.ConnectError(ctx, o.addr, err)
	}
	close(d.done)
}

func (o *Origin) newTransport() *http.Transport {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.transport == nil {
		o.transport = &http.Transport{
			DialContext:            o.dialContext,
			Protocols:              new(http.Protocols),
			HTTP2:                  &http.HTTP2Config{MaxReceiveBufferPerStream: streamWindow},
			DisableCompression:     true,
			IdleConnTimeout:        o.cfg.Keep,
			MaxResponseHeaderBytes: maxReplyHead,
		}
		o.transport.Protocols.SetUnencryptedHTTP2(true)
	}
	return o.transport
}

func (o *Origin) dialContext(ctx context.Context, _, addr string) (net.Conn, error) {
	conn, err := o.cfg.Dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	return &checked{Conn: conn, origin: o}, nil
}

// checked is a connection that looks at what the origin begins with, since net/http
// has no error for an origin that does not speak HTTP/2.
type checked struct {
	net.Conn
	origin *Origin
	begun  bool
}

// Read is called by one goroutine.
func (c *checked) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 && !c.begun {
		c.begun = true
		c.origin.foreign.Store(!beginsHTTP2(p[:n]))
	}
	return n, err
}

// beginsHTTP2 tells whether b may be the start of a SETTINGS frame, which comes first
// (RFC 9113, section 3.4): three bytes of length, 4, flags.
func beginsHTTP2(b []byte) bool {
	const kind = 3
	return b[0] == 0 && (len(b) <= kind || b[kind] == 4)
}

// maxReplyHead is what servers of gRPC may send beside a long message.
const maxReplyHead = 1 << 20
