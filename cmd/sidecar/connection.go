package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"time"

	"graylane/internal/http1"
	"graylane/internal/http2"
	"graylane/internal/listen"
	"graylane/internal/metrics"
	"graylane/internal/tcp"
	"graylane/internal/upstream"
	"graylane/pkg/policy"
)

// reachTime is how long connecting for a raw connection may take. Its caller
// believes to be connected already.
const reachTime = 10 * time.Second

// side is one direction of traffic: its listeners, and who serves what comes
// there.
type side struct {
	direction metrics.Direction
	set       *listen.Set
	http1     *http1.Server
	http2     *http2.Server
	relay     tcp.Relay // of what is no HTTP
	detector  listen.Detector

	store   *policy.Store
	metrics *metrics.Metrics
	guard   *guard
	log     *slog.Logger
	files   *files
	mark    int // descriptors from here on are not for callers of this side
	// dial connects to where a connection was going.
	dial func(ctx context.Context, addr string) (net.Conn, error)
	// connect connects for a connection that is no HTTP.
	connect connectFunc

	// undecided ends when connections of which nobody knows what they speak are to
	// be closed.
	undecided context.Context
	giveUp    context.CancelFunc
}

// connectFunc connects to dst, or to where a policy says, and notes that in c.
type connectFunc func(ctx context.Context, dst netip.AddrPort, c *metrics.Connection) (net.Conn, error)

// serve is the listen.Serve of the side. A call to the sidecar itself, as to a
// proxy, is HTTP; one that the kernel redirected may be anything. Which HTTP it is
// the server of HTTP/1 sees for itself: it hands connections of HTTP/2 on.
func (s *side) serve(conn net.Conn, dst netip.AddrPort) listen.Rest {
	if !s.files.free(conn, s.mark) {
		return nil
	}
	caller, ok := conn.(*net.TCPConn)
	if !dst.IsValid() || !ok {
		s.http1.ServeConn(conn, dst)
		return nil
	}
	c := &metrics.Connection{Direction: s.direction, Peer: tcpAddr(caller.RemoteAddr()), Destination: dst}
	start := time.Now()
	finding, err := s.find(caller, c)
	if err == nil && (finding.Protocol == listen.HTTP1 || finding.Protocol == listen.H2C) {
		if finding.Origin != nil {
			// Nothing was sent there, so that nothing is lost.
			_ = finding.Origin.Close()
		}
		s.http1.ServeConn(conn, dst)
		return nil
	}
	origin := finding.Origin
	if err == nil {
		origin, err = s.reach(origin, c)
	}
	if err != nil {
		s.fail(caller, c, err)
		s.record(c, start)
		return nil
	}
	return func(finished func()) {
		s.relay.Start(caller, origin, func(f tcp.Flow) {
			defer finished()
			c.ToOrigin, c.ToCaller, c.Err, c.End = f.ToOrigin, f.ToCaller, f.Err, metrics.Ended
			if f.Err != nil {
				c.End = metrics.Reset
			}
			s.record(c, start)
		})
	}
}

// record counts a connection that is no HTTP, and logs it.
func (s *side) record(c *metrics.Connection, start time.Time) {
	c.Took = time.Since(start)
	s.metrics.Connection(c)
}

// find finds out what a redirected connection speaks. Before there is a policy it
// passes untouched, whatever it is.
func (s *side) find(caller *net.TCPConn, c *metrics.Connection) (listen.Finding, error) {
	c.Protocol = listen.Unknown.String()
	if err := s.guard.arrived(caller, c.Peer, c.Destination); err != nil {
		return listen.Finding{}, err
	}
	if s.store.Load() == nil {
		return listen.Finding{Protocol: listen.TCP}, nil
	}
	finding, err := s.detector.Detect(s.undecided, caller, nil, c.Destination.Port(), func(ctx context.Context) (*net.TCPConn, error) {
		ctx, cancel := context.WithTimeout(ctx, reachTime)
		defer cancel()
		conn, err := s.dial(ctx, c.Destination.String())
		if err != nil {
			return nil, err
		}
		return conn.(*net.TCPConn), nil
	})
	c.Protocol, c.ServerName = finding.Protocol.String(), finding.ServerName
	return finding, err
}

// reach connects for a connection that is no HTTP, or takes what is connected
// already, if anything is and nothing leads elsewhere.
func (s *side) reach(origin *net.TCPConn, c *metrics.Connection) (*net.TCPConn, error) {
	if origin != nil && c.ServerName == "" {
		return origin, nil
	}
	if origin != nil {
		// Nothing was sent here, so that nothing is lost.
		_ = origin.Close()
	}
	conn, err := s.connect(until{context.Background(), time.Now().Add(reachTime)}, c.Destination, c)
	if err != nil {
		return nil, err
	}
	return conn.(*net.TCPConn), nil
}

// until is a context that nobody cancels. Connecting gives up by its deadline as by
// any other's, but needs no timer and no goroutine to watch it.
type until struct {
	context.Context
	deadline time.Time
}

// Deadline gives when to give up.
func (u until) Deadline() (time.Time, bool) { return u.deadline, true }

// fail resets a connection that cannot be served, which tells its caller the
// nearest thing to a refusal that is left once it was accepted.
func (s *side) fail(caller *net.TCPConn, c *metrics.Connection, err error) {
	c.Err = err
	var op *net.OpError
	switch {
	case errors.Is(err, errLoop):
		c.End = metrics.Looped
		s.log.Warn("refused a connection that leads back to this sidecar",
			"direction", s.direction.String(), "peer", c.Peer.String(), "destination", c.Destination.String())
	case errors.As(err, &op) && op.Op == "dial", errors.Is(err, context.DeadlineExceeded):
		c.End = metrics.Refused
	default:
		c.End = metrics.Reset
	}
	_ = caller.SetLinger(0) // fails if it is broken already
	_ = caller.Close()
}

// close cuts what is left of the side.
func (s *side) close() {
	s.giveUp()
	s.http1.Close()
	s.http2.Close()
	s.relay.Close()
}

// answer makes the servers of the side, whose requests are for h.
func (s *side) answer(cfg http1.Config, h upstream.Handler) {
	s.http2 = http2.NewServer(cfg, upstream.HTTP2(h))
	cfg.HTTP2 = s.http2.ServeConn
	s.http1 = http1.NewServer(cfg, upstream.HTTP1(h))
}

// drain asks callers to go elsewhere.
func (s *side) drain() {
	s.http1.Drain()
	s.http2.Drain()
}

// active is the number of requests and raw connections under way.
func (s *side) active() int { return s.http1.Active() + s.http2.Active() + s.relay.Open() }

// panics is the number of connections that ended by a fault of the sidecar.
func (s *side) panics() uint64 { return s.set.Panics() + s.http1.Panics() + s.http2.Panics() }

func tcpAddr(addr net.Addr) netip.AddrPort {
	ap := addr.(*net.TCPAddr).AddrPort()
	return netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port())
}
