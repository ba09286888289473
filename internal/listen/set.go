// Package listen accepts connections, tells HTTP/1, h2c and other TCP apart, and drains.
//
// Bind takes all addresses of one purpose or none. Run accepts on them and gives
// each connection a goroutine, whatever it speaks: who serves it finds that out.
// StopAccepting ends Run; the connections that were accepted are their server's
// to drain.
package listen

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
)

// lastCall is how long a Set accepts on after it was told to stop: callers whose
// handshake the kernel has finished already would be reset otherwise.
const lastCall = 50 * time.Millisecond

// Serve serves one connection. dst is where the caller was going before the kernel
// redirected it here, and the zero value if nothing redirected it. A connection that
// was redirected from where the kernel does not tell is closed without being served.
//
// The connection is closed when Serve returns nil. It may return a Rest in place of
// waiting itself until the connection is finished.
type Serve func(conn net.Conn, dst netip.AddrPort) Rest

// Rest starts what is left to be done for a connection, and returns. What it started
// calls finished once, when the connection may be closed. Meanwhile no goroutine of
// the Set is kept for it, nor the stack that serving has made that grow to.
type Rest func(finished func())

// Set is the listeners of one purpose: all of them bound, none accepting before Run.
type Set struct {
	// Log gets what goes wrong while accepting and what panicked while serving.
	// Set it before Run; nil means slog.Default.
	Log *slog.Logger

	listeners []listener
	skipped   []error

	stop     chan struct{} // closed once accepting is to end
	stopOnce sync.Once

	open         atomic.Int64
	ended        atomic.Bool // Run has returned
	panics       atomic.Uint64
	destinations destinations
}

// listener is what a Set needs of a *net.TCPListener.
type listener interface {
	net.Listener
	syscall.Conn
	SetDeadline(t time.Time) error
}

func newSet(listeners []listener, skipped []error) *Set {
	return &Set{listeners: listeners, skipped: skipped, stop: make(chan struct{})}
}

// Addrs gives the addresses that are bound, in the order of Bind.
func (s *Set) Addrs() []net.Addr {
	addrs := make([]net.Addr, len(s.listeners))
	for i, l := range s.listeners {
		addrs[i] = l.Addr()
	}
	return addrs
}

// Listeners gives the listeners, for a server that accepts by itself, such as
// net/http's, in place of Run.
func (s *Set) Listeners() []net.Listener {
	listeners := make([]net.Listener, len(s.listeners))
	for i, l := range s.listeners {
		listeners[i] = l
	}
	return listeners
}

// Skipped gives what Bind left out, for the start log: IPv6 addresses on a machine
// that has no IPv6.
func (s *Set) Skipped() []error { return s.skipped }

// Open gives the number of connections that are being served.
func (s *Set) Open() int { return int(s.open.Load()) }

// Finished reports whether Run has returned and every connection is served: nothing
// comes any more, and nothing is left.
func (s *Set) Finished() bool { return s.ended.Load() && s.Open() == 0 }

// Panics gives the number of connections that ended because Serve panicked.
func (s *Set) Panics() uint64 { return s.panics.Load() }

// Run accepts connections, each served by a goroutine of its own, until
// StopAccepting is called or ctx ends. The listeners are closed when it returns;
// connections may still be open. It may be called once.
//
// When the process has no descriptors left, accepting pauses, for a second at
// most, and goes on. The error is of a listener that can never accept again; the
// others are stopped then too, since a sidecar that is deaf on one port should be
// restarted.
//
// A panic in serve ends its connection alone, logged with its stack and counted:
// the sidecar carries all traffic of a pod, and one request must not cut the rest.
func (s *Set) Run(ctx context.Context, serve Serve) error {
	defer s.ended.Store(true)
	loops, ctx := errgroup.WithContext(ctx)
	defer context.AfterFunc(ctx, s.StopAccepting)()
	for _, l := range s.listeners {
		loops.Go(func() error { return s.accept(l, serve) })
	}
	return loops.Wait()
}

// StopAccepting ends Run within 50 ms and returns at once. Callers whose handshake
// is done by then are accepted; later ones get no answer until the listeners are
// closed, and are refused then.
func (s *Set) StopAccepting() {
	s.stopOnce.Do(func() {
		close(s.stop)
		for _, l := range s.listeners {
			if err := dropSYNs(l); err != nil {
				s.log().Debug("callers who connect in the last moment may be reset", "address", l.Addr().String(), "error", err)
			}
			// The only error is that of a closed listener, which is stopped anyhow.
			_ = l.SetDeadline(time.Now().Add(lastCall))
		}
	})
}

// Close closes the listeners at once: for a Set that is not to Run after all.
func (s *Set) Close() {
	s.stopOnce.Do(func() { close(s.stop) })
	closeAll(s.listeners)
}

func closeAll(listeners []listener) {
	for _, l := range listeners {
		// Nothing was written to a listener that could be lost by a failed close.
		_ = l.Close()
	}
}

func (s *Set) handle(conn net.Conn, serve Serve) {
	finished := func() {
		// What was not passed on by now is not wanted.
		_ = conn.Close()
		s.open.Add(-1)
	}
	if rest := s.serve(conn, serve); rest != nil {
		rest(finished)
		return
	}
	finished()
}

func (s *Set) serve(conn net.Conn, serve Serve) Rest {
	defer func() {
		if p := recover(); p != nil {
			s.panics.Add(1)
			s.log().Error("panic while serving a connection, which was closed",
				"peer", conn.RemoteAddr().String(), "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		}
	}()
	dst, err := s.destinations.of(conn)
	if err != nil {
		s.warn(conn, err)
		return nil
	}
	return serve(conn, dst)
}

func (s *Set) log() *slog.Logger {
	if s.Log == nil {
		return slog.Default()
	}
	return s.Log
}
