package http2

import (
	"context"
	"errors"
	"net"
	"net/http"
	"slices"
	"sync"

	"graylane/internal/http1"
)

// Origin is one address that requests are sent to. All share as few connections as
// the origin allows; a further one is made when it takes no more streams.
type Origin struct {
	addr       string
	cfg        http1.OriginConfig
	complaints *http1.Complaints

	mu        sync.Mutex
	transport *http.Transport // nil until the first connection
	links     []*link
	coming    *link        // is being made, or has not settled yet; nil: none
	bridge    *http.Server // nil until DialHTTP1
}

// NewOrigin connects to nothing yet. Of cfg it uses the time limits, Dial and Log.
func NewOrigin(addr string, cfg http1.OriginConfig) *Origin {
	cfg = cfg.Filled()
	return &Origin{addr: addr, cfg: cfg, complaints: http1.NewComplaints(addr, cfg.Log)}
}

// Addr is the address that NewOrigin was given.
func (o *Origin) Addr() string { return o.addr }

// Close closes the connections that are not used, and the others when their streams
// have ended. Requests may still be sent.
func (o *Origin) Close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, l := range o.links {
		l.leave()
	}
	o.links = nil
}

// take reserves a stream on a connection. used tells whether the connection may
// have been there before. Why ctx has ended, who has made it knows better than e.
func (o *Origin) take(ctx context.Context) (l *link, used bool, e *http1.Error) {
	used = true
	for barren := 0; barren < mostBarren; used = false {
		l, ours := o.reserve()
		switch {
		case ours == reserved:
			return l, used, nil
		case ours == first && await(ctx, l.made) && o.lend(l):
			return l, false, nil
		case !await(ctx, l.settled):
			return nil, false, http1.ConnectError(ctx, o.addr, ctx.Err())
		case l.fault != nil:
			return nil, false, l.fault
		case l.barren:
			barren++
		}
	}
	return nil, false, &http1.Error{Op: "send", Addr: o.addr, Reason: http1.OriginClosed, Retryable: true, Err: errNoStream}
}

// mostBarren is how many connections in a row may end as soon as they are made, or
// take no stream at all.
const mostBarren = 3

var errNoStream = errors.New("its new connections take no stream")

// await waits for c, at most until the end of ctx.
func await(ctx context.Context, c chan struct{}) bool {
	select {
	case <-c:
		return true
	case <-ctx.Done():
		return false
	}
}

// claim is what reserve gives.
type claim int

const (
	reserved claim = iota // a stream of the link
	first                 // the first stream of the link, once it is made
	later                 // any other, once it has settled
)

// reserve takes a stream of a link that has room, or else sees to it that one comes.
func (o *Origin) reserve() (*link, claim) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, l := range o.links {
		if l.reserve() {
			return l, reserved
		}
	}
	o.tidy()
	if o.coming != nil {
		return o.coming, later
	}
	o.coming = newLink()
	go o.connect(o.coming)
	return o.coming, first
}

// lend takes the first stream of a link that was to be made.
func (o *Origin) lend(l *link) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return l.http != nil && l.reserve()
}

// tidy forgets the links that are of no use any more.
func (o *Origin) tidy() {
	o.links = slices.DeleteFunc(o.links, func(l *link) bool {
		if !l.useless() {
			return false
		}
		l.leave()
		return true
	})
}

// connect makes a connection and waits for the settings of the origin. It is
// nobody's alone, so that no caller who leaves ends it.
func (o *Origin) connect(l *link) {
	ctx, cancel := context.WithTimeout(context.WithValue(context.Background(), linkKey{}, l), o.cfg.Connect)
	defer cancel()
	if !o.make(ctx, l) {
		return
	}
	select {
	case <-l.over:
		o.settle(l, nil)
	case <-ctx.Done():
		o.settle(l, ctx.Err())
	}
}

// make makes the connection, and lends it to the first who asks.
func (o *Origin) make(ctx context.Context, l *link) bool {
	conn, err := o.newTransport().NewClientConn(ctx, "http", o.addr)
	o.mu.Lock()
	defer o.mu.Unlock()
	defer close(l.made)
	if err != nil {
		o.coming = nil
		l.fault = http1.ConnectError(ctx, o.addr, err)
		close(l.settled)
		return false
	}
	l.http = conn
	o.links = append(o.links, l)
	return true
}

// settle has the link shared by all, unless the origin did not say in time, or in
// HTTP/2, how many streams it takes. A request that is on its way there stays.
func (o *Origin) settle(l *link, late error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	defer close(l.settled)
	o.coming, l.barren = nil, l.takesNone()
	switch {
	case l.foreign.Load():
		l.fault = o.misunderstood(errForeign)
		o.complaints.BadReply(errForeign)
	case late != nil:
		l.fault = &http1.Error{Op: "connect", Addr: o.addr, Reason: http1.ConnectTimeout, Retryable: true, Err: errNoSettings}
		o.links = slices.DeleteFunc(o.links, func(one *link) bool { return one == l })
		l.leave()
	}
}

// misunderstood is the error of sending to an origin that does not speak HTTP/2. It
// has begun nothing: the preface is made so that it reads no further (RFC 9113,
// section 3.4).
func (o *Origin) misunderstood(err error) *http1.Error {
	return &http1.Error{Op: "receive", Addr: o.addr, Reason: http1.BadReply, Retryable: true, Err: err}
}

var (
	errForeign    = errors.New("it does not speak HTTP/2")
	errNoSettings = errors.New("it has sent no settings of HTTP/2")
)

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
	l := ctx.Value(linkKey{}).(*link)
	l.greeting = newGreeting(conn)
	return l.greeting, nil
}

// maxReplyHead is what servers of gRPC may send beside a long message.
const maxReplyHead = 1 << 20
