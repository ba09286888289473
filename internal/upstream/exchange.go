package upstream

import (
	"net/netip"
	"time"

	"graylane/internal/http1"
	"graylane/internal/http2"
)

// Exchange is one request and its reply, whatever protocol the caller speaks. Its
// bytes are valid until Serve returns.
type Exchange interface {
	// Head is that of the request.
	Head() Head
	// Caller is who sent it.
	Caller() netip.AddrPort
	// Destination is where the caller was going, zero if not known.
	Destination() netip.AddrPort
	// Via is the target of the CONNECT in whose tunnel the request came, nil if it
	// came in none.
	Via() []byte

	// Send sends the request, with its edits, to the origin and relays the reply.
	// The error is an *http1.Error, which tells whether another origin may be tried.
	Send(o *Origin) error
	// Tunnel connects the caller of a CONNECT to the origin, or finds HTTP there.
	Tunnel(o *Origin) error
	// Accept answers a CONNECT before there is an origin, to look into its tunnel. It
	// does nothing where tunnels are not looked into. Tunnel comes next, unless Opened.
	Accept() error
	// Opened says that the tunnel holds HTTP: its requests are exchanges of their own,
	// and nothing is left to do for this one.
	Opened() bool
	// Reply is an answer of our own.
	Reply(status int, reason, text string)
	// SetReply puts one line on the reply, whoever makes it, in place of all of that
	// name.
	SetReply(name, value string)
	// DropReply leaves all lines of that name off the reply, whoever makes it, until
	// SetReply puts one there.
	DropReply(name string)
	// AddReply puts one line on the reply beside what else has that name.
	AddReply(name, value string)
	// Fail answers what http1.Status makes of err, unless a reply has begun.
	Fail(err error)

	// Status is that of the reply that went to the caller, 0 if none did.
	Status() int
	// Waited is the time from the request's being sent, by the last Send, to the head
	// of its reply; 0 if none came.
	Waited() time.Duration
	// Leaving says that the reply came from a sidecar that is about to end.
	Leaving() bool

	Waiter
}

// Waiter is who a request is sent for.
type Waiter interface {
	// Gone is closed when nobody waits for the reply any more.
	Gone() <-chan struct{}
}

// Head is the head of a request, read and edited in place. Names are matched in
// any case.
type Head interface {
	Method() []byte
	Authority() []byte // as the caller named it, without userinfo; nil if it named none
	Path() []byte      // as sent, without the query
	Query() []byte     // as sent, without the '?'; nil if there is none
	Connect() bool     // the method is CONNECT
	SetPath(path []byte)

	// Get, Values, Set, Del and DelAlike are those of propagate.Header.
	Get(name string) []byte
	Values(dst [][]byte, name string) [][]byte
	Set(name string, value []byte)
	Del(name string)
	DelAlike(name string)
}

// Handler decides what happens to one request: it edits the head and then calls
// one of Send, Tunnel and Reply. Send and Tunnel may be called again after an
// error that allows it; after any other, Fail is what is left.
type Handler interface{ Serve(x Exchange) }

// HTTP1 hands the exchanges of an HTTP/1 server to h.
func HTTP1(h Handler) http1.Handler { return handler1{h} }

type handler1 struct{ Handler }

func (h handler1) Serve(x *http1.Exchange) { h.Handler.Serve(exchange1{x}) }

// exchange1 is an Exchange of HTTP/1. It is one pointer, so that making it an
// Exchange allocates nothing.
type exchange1 struct{ *http1.Exchange }

func (x exchange1) Head() Head                  { return &x.Req }
func (x exchange1) Caller() netip.AddrPort      { return x.Peer }
func (x exchange1) Destination() netip.AddrPort { return x.Dst }
func (x exchange1) Via() []byte                 { return x.Exchange.Via }
func (x exchange1) Send(o *Origin) error        { return x.Exchange.Send(o.http1) }
func (x exchange1) Tunnel(o *Origin) error      { return x.Exchange.Tunnel(o.raw) }

// HTTP2 hands the exchanges of an HTTP/2 server to h.
func HTTP2(h Handler) http2.Handler { return handler2{h} }

type handler2 struct{ Handler }

func (h handler2) Serve(x *http2.Exchange) { h.Handler.Serve(exchange2{x}) }

// exchange2 is an Exchange of HTTP/2.
type exchange2 struct{ *http2.Exchange }

func (x exchange2) Head() Head                  { return &x.Req }
func (x exchange2) Caller() netip.AddrPort      { return x.Peer }
func (x exchange2) Destination() netip.AddrPort { return x.Dst }
func (x exchange2) Via() []byte                 { return x.Exchange.Via }
func (x exchange2) Send(o *Origin) error        { return x.Exchange.Send(o.http2) }
func (x exchange2) Tunnel(o *Origin) error      { return x.Exchange.Tunnel(o.http2) }

// Accept does nothing: a tunnel of HTTP/2 is a stream among others, and is not
// looked into.
func (x exchange2) Accept() error { return nil }

// Opened is false, as Accept says.
func (x exchange2) Opened() bool { return false }
