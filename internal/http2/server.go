package http2

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"graylane/internal/http1"
)

// A Handler decides what happens to one request, as that of package http1 does.
type Handler interface{ Serve(x *Exchange) }

const (
	// maxStreams is what a caller may have open on a connection, where calls over it
	// wait for others to end: many, since servers of gRPC often set no limit, and not
	// more than a few such callers may cost.
	maxStreams = 1000
	// streamWindow is how much of a body is taken before it is passed on.
	streamWindow = 256 << 10
	// connWindow is what all streams together take: one whose origin does not read
	// must not stop the others.
	connWindow = maxStreams * streamWindow
	// maxFrames is what a head may have before it costs the connection, with all its
	// streams: that is how net/http answers one that is much too large.
	maxFrames = 1 << 20
	// settling is how long a connection is served that comes while the Server drains.
	settling = time.Second
)

// Server is the caller's side of one listener.
type Server struct {
	cfg     http1.Config
	handler Handler
	log     *slog.Logger
	buffers sync.Pool // of *[bufferSize]byte

	active, conns atomic.Int64
	panics        atomic.Uint64
	draining      atomic.Bool
	ctx           context.Context // ends with Close
	end           context.CancelFunc

	mu      sync.Mutex
	current *generation // nil until the next connection comes
	retired []*generation
}

// generation is the connections that will be asked to go at the same time.
type generation struct {
	http *http.Server
	feed *feed
}

// NewServer starts nothing. Of cfg it uses all but KeepAlive and Keep.
func NewServer(cfg http1.Config, h Handler) *Server {
	cfg = cfg.Filled()
	s := &Server{cfg: cfg, handler: h, log: cfg.Log}
	s.ctx, s.end = context.WithCancel(context.Background())
	return s
}

// ServeConn serves the streams on c, which begins with the preface of HTTP/2, and
// closes it. It blocks until then. dst is where the caller was going, the zero
// AddrPort if not known.
//
// A head that takes longer than HeadTimeout ends the connection. Being idle does not:
// the one announcement that net/http makes of it would cost the call that is on its
// way just then. A caller that has vanished is for the keep-alive of TCP to find (see
// listen.Bind); one that is there may stay.
func (s *Server) ServeConn(c net.Conn, dst netip.AddrPort) {
	defer s.conns.Add(-1)
	if n := s.conns.Add(1); s.cfg.MaxConns > 0 && n > int64(s.cfg.MaxConns) {
		_ = c.Close() // nothing was read from it
		return
	}
	served := s.newConn(c, dst)
	for {
		g := s.generation()
		if g == nil {
			_ = served.Close() // as above
			return
		}
		if g.feed.put(served) {
			defer context.AfterFunc(s.ctx, func() { _ = c.Close() })()
			<-served.done
			part(c)
			return
		}
	}
}

// Drain asks callers to go, if the configuration says CloseOnDrain: by GOAWAY,
// after which the streams under way finish. Connections that come later are served
// for a moment and asked then.
func (s *Server) Drain() {
	if s.cfg.CloseOnDrain && !s.draining.Swap(true) {
		go s.retire()
	}
}

// Active is the number of streams in flight.
func (s *Server) Active() int { return int(s.active.Load()) }

// Conns is the number of connections being served, idle ones included.
func (s *Server) Conns() int { return int(s.conns.Load()) }

// Panics is the number of streams that ended because the Handler panicked.
func (s *Server) Panics() uint64 { return s.panics.Load() }

// Close cuts every connection that is left. It does not wait for the Handlers to
// notice.
func (s *Server) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end()
	if s.current != nil {
		s.retired = append(s.retired, s.current)
	}
	for _, g := range s.retired {
		_ = g.http.Close() // that of the feed, which has none
	}
	s.current, s.retired = nil, nil
}

// retire lets one generation go after the other, until Close. It asks them again and
// again, since net/http tells those that speak HTTP/2 by then, and nobody who was
// taken just before and begins to.
func (s *Server) retire() {
	ticker := time.NewTicker(settling)
	defer ticker.Stop()
	for s.ctx.Err() == nil {
		s.mu.Lock()
		if g := s.current; g != nil {
			s.current, s.retired = nil, append(s.retired, g)
		}
		for _, g := range s.retired {
			go s.ask(g)
		}
		s.mu.Unlock()
		select {
		case <-ticker.C:
		case <-s.ctx.Done():
		}
	}
}

// ask asks the connections of a generation to go.
func (s *Server) ask(g *generation) {
	ctx, cancel := context.WithTimeout(s.ctx, settling)
	defer cancel()
	_ = g.http.Shutdown(ctx) // the error is that of ctx
}

// generation is the one that takes connections, nil after Close.
func (s *Server) generation() *generation {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == nil && s.ctx.Err() == nil {
		s.current = &generation{http: s.newHTTP(), feed: newFeed()}
		go s.run(s.current)
	}
	return s.current
}

func (s *Server) run(g *generation) {
	if err := g.http.Serve(g.feed); !errors.Is(err, http.ErrServerClosed) {
		s.log.Error("serving HTTP/2 has ended", "error", err)
	}
}

func (s *Server) newHTTP() *http.Server {
	h := &http.Server{
		Handler:                      s,
		DisableGeneralOptionsHandler: true, // OPTIONS * is for the origin
		MaxHeaderBytes:               max(maxFrames, 2*s.cfg.MaxHead),
		Protocols:                    new(http.Protocols),
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams:          maxStreams,
			MaxReceiveBufferPerStream:     streamWindow,
			MaxReceiveBufferPerConnection: connWindow,
			MaxReadFrameSize:              bufferSize, // a connection keeps room for the largest that it got
		},
		ConnContext:       withConn,
		ReadHeaderTimeout: s.cfg.HeadTimeout, // of the preface; for the rest see heads
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	h.Protocols.SetUnencryptedHTTP2(true)
	return h
}

// ServeHTTP serves one stream.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	growStack(0)
	active := s.active.Add(1)
	defer s.active.Add(-1)
	defer func() {
		if p := recover(); p != nil && p != http.ErrAbortHandler { // it is that very value
			s.panics.Add(1)
			s.log.Error("request handler panicked", "panic", p, "stack", string(debug.Stack()))
			panic(http.ErrAbortHandler) // which resets the stream
		} else if p != nil {
			panic(p)
		}
	}()
	x := newExchange(w, r, s, &s.buffers, s.cfg.MaxBody)
	if c, ok := r.Context().Value(connKey{}).(*conn); ok {
		x.Peer, x.Dst, x.Via = c.peer, c.dst, c.via
	}
	if err := s.admits(x, active); err != nil {
		s.refuse(x, err)
	} else {
		s.handler.Serve(x)
	}
	x.finish()
}

// growStack makes room on the stack of a new goroutine for what a Handler and net/http
// take, while it is cheap to move: it would be moved as it fills, time after time. This
// is 7 % of what a unary call costs.
//
//go:noinline
func growStack(i int) byte {
	var room [6 << 10]byte
	return room[i]
}

// admits says why a request gets no further. There may be as many under way as there
// may be connections of callers who have one each.
func (s *Server) admits(x *Exchange, active int64) error {
	if s.cfg.MaxConns > 0 && active > int64(s.cfg.MaxConns) {
		return &http1.Error{Op: "accept", Reason: http1.TooManyConns, Retryable: true}
	}
	return x.Req.admissible(s.cfg.MaxHead)
}

// refuse answers what no Handler gets to see.
func (s *Server) refuse(x *Exchange, err error) {
	x.Fail(err)
	s.refused(err)
}

func (s *Server) refused(err error) {
	if f := s.cfg.Refused; f != nil {
		f(http1.Status(err))
	}
}
