// Package http1 relays one HTTP/1 exchange between two connections, streaming both ways.
package http1

import (
	"context"
	"log/slog"
	"net"
	"net/netip"
	"time"
)

// A Handler decides what happens to one request: it edits x.Req and then calls exactly one of
// x.Send, x.Tunnel and x.Reply (Send and Tunnel may be called again after an *Error that is
// Retryable). The bytes in x are valid until Serve returns.
type Handler interface{ Serve(x *Exchange) }

// Config is the caller's side of a Server. The zero value works.
type Config struct {
	MaxHead      int           // bytes of one head, default 64 KiB; more is answered 431
	MaxBody      int64         // bytes of one request body, 0: no limit; more is answered 413
	HeadTimeout  time.Duration // from the first byte of a head to its last, default 10 s; 408
	KeepAlive    time.Duration // between two requests, default 75 s
	MaxConns     int           // connections at a time, 0: no limit; one more is answered 503
	CloseOnDrain bool          // replies carry "Connection: close" while draining, and idle connections are closed
	Keep         []string      // further header names that a caller's Connection header cannot have removed
	Log          *slog.Logger  // nil: nothing is logged
	// Refused, if not nil, hears of every request that was answered before a Handler saw it.
	Refused func(status int, reason string)
}

// Server is the caller's side of one listener.
type Server struct{}

// NewServer allocates and starts nothing.
func NewServer(cfg Config, h Handler) *Server { return &Server{} }

// ServeConn answers the requests on c one after the other and closes c. c must be backed by a
// socket (syscall.Conn: *net.TCPConn, *net.UnixConn); bytes that were read from it to find out
// what it speaks are handed in by a method Prefix() []byte of c. dst is where the caller was
// going (the original destination), the zero AddrPort if not known.
func (s *Server) ServeConn(c net.Conn, dst netip.AddrPort) {}

// Drain lets the requests in flight finish. With CloseOnDrain idle connections are closed now and
// busy ones after their reply, which says so; without it the connections stay usable until Close.
func (s *Server) Drain() {}

// Active is the number of requests in flight, tunnels and upgrades included.
func (s *Server) Active() int { return 0 }

// Conns is the number of open connections.
func (s *Server) Conns() int { return 0 }

// Close cuts every connection that is left. It does not wait.
func (s *Server) Close() {}

// Exchange is one request and its reply.
type Exchange struct {
	Req  Request
	Peer netip.AddrPort // the caller
	Dst  netip.AddrPort // where it was going (original destination), zero if not known
}

// Send sends the request, with its edits, to o and relays the reply, both ways at once; interim
// replies, upgrades and trailers included. A CONNECT is passed on as to another proxy. It returns
// nil when the whole reply was passed on; else the error is an *Error.
func (x *Exchange) Send(o *Origin) error { return nil }

// Tunnel answers a CONNECT: it connects to o, replies 200 and moves bytes both ways until both
// directions have ended.
func (x *Exchange) Tunnel(o *Origin) error { return nil }

// Reply is an answer of our own: X-Graylane-Error: reason (left out if empty) and text as one line of text/plain.
func (x *Exchange) Reply(status int, reason, text string) {}

// Fail replies what Status makes of err, unless a reply has begun.
func (x *Exchange) Fail(err error) {}

// SetReply puts one line on the reply to the caller, whoever makes it, in place of all of that name.
func (x *Exchange) SetReply(name, value string) {}

// Status is that of the reply that went to the caller, 0 if none did.
func (x *Exchange) Status() int { return 0 }

// Replied says that a reply has begun (interim ones do not count).
func (x *Exchange) Replied() bool { return false }

// Request is the head of a request, read and edited in place. Lookups ignore case; names, values
// and order that are not edited go out as they came.
type Request struct{}

func (r *Request) Method() []byte { return nil }

// Authority is that of the target if it has one (absolute-form, CONNECT), else Host, without
// userinfo; nil if the request names none.
func (r *Request) Authority() []byte { return nil }

// Path is the raw path, "/" if the target has none, "*" for OPTIONS *.
func (r *Request) Path() []byte { return nil }

// Query is raw, what follows the first '?'; nil if there is none.
func (r *Request) Query() []byte { return nil }

// Absolute says that the target came in absolute-form, as to a proxy.
func (r *Request) Absolute() bool { return false }

// Connect says that the method is CONNECT.
func (r *Request) Connect() bool { return false }

// Upgrade says that the caller asks for another protocol that will be passed on.
func (r *Request) Upgrade() bool { return false }

// Get is the value of the first line of that name, nil if there is none.
func (r *Request) Get(name string) []byte { return nil }

// Values appends the values of all lines of that name to dst.
func (r *Request) Values(dst [][]byte, name string) [][]byte { return dst }

// Set leaves one line of that name, at the place of the first, else at the end. value is copied;
// control bytes in it become spaces.
func (r *Request) Set(name string, value []byte) {}

// Del removes every line of that name.
func (r *Request) Del(name string) {}

// SetPath replaces the path and keeps the query. path is copied and must start with '/'.
func (r *Request) SetPath(path []byte) {}

// OriginConfig says how to speak to an Origin. The zero value works.
type OriginConfig struct {
	Connect time.Duration // to connect, default 5 s
	Header  time.Duration // from the end of the request to the head of the reply, default 60 s; below 0: no limit
	Idle    time.Duration // without a byte moving while a body is on its way, default 5 min; below 0: no limit
	Keep    time.Duration // an unused connection is kept, default 50 s
	MaxIdle int           // unused connections kept, default 256
	Retries int           // how often an idempotent request may be sent again after a kept connection broke, default 1; below 0: never
	// Dial connects, default net.Dialer. The connection must be backed by a socket (syscall.Conn).
	Dial func(ctx context.Context, addr string) (net.Conn, error)
}

// Origin is one address that requests are sent to, with its pool of connections.
type Origin struct{}

// NewOrigin connects to nothing yet.
func NewOrigin(addr string, cfg OriginConfig) *Origin { return &Origin{} }

func (o *Origin) Addr() string { return "" }

// Close closes the idle connections; busy ones are closed when they finish.
func (o *Origin) Close() {}

// Error says what went wrong with an exchange.
type Error struct {
	Op        string // "connect", "send", "receive", "relay", "tunnel"
	Addr      string // of the origin
	Reason    string // closed list, see Status
	Retryable bool   // nothing reached the origin and the request can be sent elsewhere
	Err       error
}

func (e *Error) Error() string { return e.Op }
func (e *Error) Unwrap() error { return e.Err }

// Status is the one place that turns an error into the status of a reply.
func Status(err error) (status int, reason string) { return 502, "error" }
