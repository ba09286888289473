package http1

import (
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// A Handler decides what happens to one request: it edits x.Req and then calls one of x.Send,
// x.Tunnel and x.Reply. Send and Tunnel may be called again after an *Error that is Retryable; after
// any other, x.Fail is what is left. The bytes in x are valid until Serve returns.
type Handler interface{ Serve(x *Exchange) }

// Config is the caller's side of a Server. The zero value works.
type Config struct {
	MaxHead      int           // bytes of one head, default 64 KiB; a larger one is answered 431
	MaxBody      int64         // bytes of one request body, 0: no limit; a larger one is answered 413
	HeadTimeout  time.Duration // from the first byte of a head to its last, default 10 s, below 0: no limit; then 408
	KeepAlive    time.Duration // until a request begins, default 75 s, below 0: no limit
	MaxConns     int           // connections at a time, 0: no limit; one more is answered 503
	CloseOnDrain bool          // while draining, replies say "Connection: close" and idle connections are closed
	Keep         []string      // more header names that a caller's Connection header cannot remove
	Sidecars     bool          // callers are sidecars, who are told what became of requests that the origin did not answer
	Log          *slog.Logger  // nil: nothing is logged
	// Look, if not nil, looks into tunnels.
	Look Look
	// HTTP2, if not nil, serves connections that begin with the preface of HTTP/2, and tunnels, whose
	// target a method Via() []byte of c gives.
	HTTP2 func(c net.Conn, dst netip.AddrPort)
	// Refused, if not nil, hears of every request that was answered before a Handler saw it.
	Refused func(status int, reason string)
}

// Filled is the Config with its defaults.
func (c Config) Filled() Config {
	if c.MaxHead <= 0 {
		c.MaxHead = 64 << 10
	}
	if c.HeadTimeout == 0 {
		c.HeadTimeout = 10 * time.Second
	}
	if c.KeepAlive == 0 {
		c.KeepAlive = 75 * time.Second
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}

const tick = 100 * time.Millisecond // how often time limits are looked at: they are kept to two of these

// Server is the caller's side of one listener.
type Server struct {
	cfg       Config
	handler   Handler
	watch     watch
	bufs      buffers
	exchanges sync.Pool
	parsers   sync.Pool
	active    atomic.Int64
	panics    atomic.Uint64
	draining  atomic.Bool
	closed    atomic.Bool
}

// NewServer allocates and starts nothing.
func NewServer(cfg Config, h Handler) *Server {
	return &Server{cfg: cfg.Filled(), handler: h, watch: watch{tick: tick, callers: make(map[*caller]struct{})}}
}

// ServeConn answers the requests on c one after the other and closes c. c must be backed by a socket
// (syscall.Conn: *net.TCPConn, *net.UnixConn). Bytes that were read from it already, to find out
// what it speaks, are asked for by a method Prefix() []byte of c. dst is where the caller was going
// (the original destination), the zero AddrPort if not known.
func (s *Server) ServeConn(c net.Conn, dst netip.AddrPort) {
	k, err := newCaller(s, c, dst)
	if err != nil {
		s.cfg.Log.Error("connection cannot be served", "peer", c.RemoteAddr(), "err", err)
		_ = c.Close()
		return
	}
	s.watch.add(k)
	switch over := s.watch.len() - s.cfg.MaxConns; {
	case s.cfg.MaxConns > 0 && over > s.cfg.MaxConns: // too many even to tell them so
	case s.cfg.MaxConns > 0 && over > 0:
		k.refuse(&Error{Op: "accept", Reason: TooManyConns})
	default:
		for !s.closed.Load() && k.await() { // looked at after add: Close sees every connection, or is seen here
			if k.fresh && s.cfg.HTTP2 != nil && k.speaksHTTP2() {
				k.handOver(c)
				return
			}
			if k.fresh = false; !k.serve() {
				break
			}
		}
	}
	if k.linger {
		k.part()
	}
	s.watch.remove(k)
	k.wire.close()
}

// Drain lets the requests in flight finish. With CloseOnDrain every reply says that the connection
// ends after it, also on connections that come later, and connections that have been idle for a
// second are closed; without it connections stay usable until Close.
func (s *Server) Drain() {
	s.draining.Store(true)
	if s.cfg.CloseOnDrain {
		s.watch.each(func(k *caller) { k.guard.retire() })
	}
}

// Active is the number of requests in flight, tunnels and upgrades included.
func (s *Server) Active() int { return int(s.active.Load()) }

// Conns is the number of connections being served, idle ones included.
func (s *Server) Conns() int { return s.watch.len() }

// Panics is the number of connections that ended because the Handler panicked.
func (s *Server) Panics() uint64 { return s.panics.Load() }

// Close cuts every connection that is left. It does not wait for the Handlers to notice.
func (s *Server) Close() {
	s.closed.Store(true)
	s.watch.each(func(k *caller) { k.guard.end() })
}

// closing says that connections end after the reply at hand.
func (s *Server) closing() bool { return s.cfg.CloseOnDrain && s.draining.Load() || s.closed.Load() }

func (s *Server) newExchange() *Exchange {
	if x, ok := s.exchanges.Get().(*Exchange); ok {
		return x
	}
	x := &Exchange{uploaded: make(chan struct{}, 1)}
	x.startUpload, x.startUpstream = x.upload, x.upstream
	return x
}

func (s *Server) newParsers() *parsers {
	if p, ok := s.parsers.Get().(*parsers); ok {
		return p
	}
	return newParsers()
}
