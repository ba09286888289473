package http2

import (
	"net"
	"runtime"
	"sync"
	"time"
)

const (
	// mostGathered is how much waits to leave; who wants to write more waits as well.
	mostGathered = 16 << 10
	// keptGathered is the room that a connection keeps while nothing leaves.
	keptGathered = 4 << 10
)

// gathered is a connection whose small writes leave together. net/http flushes after
// each frame, of which a unary call has three on its way back and two on its way out,
// and each flush would be a system call here and wake the one who reads there.
//
// Nothing is held back for a time: a write leaves as soon as the goroutines that can
// run now had their turn. A write that fails after it was taken fails the next one.
type gathered struct {
	net.Conn
	last time.Duration // that Close gives what waits to leave

	mu      sync.Mutex
	moved   sync.Cond // of mu: all has left, or never will
	pending []byte    // waits to leave
	busy    bool      // a goroutine writes to Conn, or is about to
	err     error     // of writing from now on
	closing bool      // Close was called

	done chan struct{} // closed once Conn is
}

func newGathered(c net.Conn, last time.Duration) *gathered {
	g := &gathered{Conn: c, last: last, done: make(chan struct{})}
	g.moved.L = &g.mu
	return g
}

// Write takes p, and writes it itself if it is large.
func (g *gathered) Write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.busy && g.err == nil && len(g.pending)+len(p) > mostGathered {
		g.moved.Wait()
	}
	switch {
	case g.err != nil:
		return 0, g.err
	case g.busy:
		g.pending = append(g.pending, p...)
	case len(p) > keptGathered:
		g.busy = true
		n, err := g.write(p)
		g.leave()
		return n, err
	default:
		g.pending = append(g.pending, p...)
		g.busy = true
		go g.send()
	}
	return len(p), nil
}

// send sends what is written now, and by others who can run.
func (g *gathered) send() {
	runtime.Gosched()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.leave()
}

// leave sends what waits until nothing does.
func (g *gathered) leave() {
	for len(g.pending) > 0 {
		batch := g.pending
		g.pending = nil
		if _, err := g.write(batch); err != nil {
			g.pending = nil
		}
		if len(g.pending) == 0 && cap(batch) <= keptGathered {
			g.pending = batch[:0]
		}
	}
	g.busy = false
	g.moved.Broadcast()
	if g.closing {
		_ = g.end() // as Close would have
	}
}

// write writes to Conn, without mu.
func (g *gathered) write(p []byte) (int, error) {
	g.mu.Unlock()
	n, err := g.Conn.Write(p)
	g.mu.Lock()
	if err != nil && g.err == nil {
		g.err = err
	}
	return n, err
}

// Close gives what waits to leave a time to do so. It does not wait for that, and may be
// called more than once.
func (g *gathered) Close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closing {
		return net.ErrClosed
	}
	g.closing, g.err = true, net.ErrClosed
	g.moved.Broadcast()
	if !g.busy {
		return g.end()
	}
	now := time.Now()
	_ = g.SetReadDeadline(now) // a closed one has none, which is as well
	return g.SetWriteDeadline(now.Add(g.last))
}

func (g *gathered) end() error {
	defer close(g.done)
	return g.Conn.Close()
}
