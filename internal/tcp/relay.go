// Package tcp relays bytes between two connections.
//
// A Relay passes on what happens on one connection to the other as if there were
// one: bytes, through the kernel by splice(2), without copying them here; urgent
// bytes, once something follows them; the end of one side while the other goes on;
// and resets. It changes, adds and drops nothing, and knows nothing of what the bytes
// mean.
//
// An idle connection takes two goroutines, whose stacks are as small as they come,
// and no pipe: the kernel is asked to move bytes only when there are some.
package tcp

import (
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Relay relays pairs of connections. The zero value works.
type Relay struct {
	// Idle is how long a pair may move no byte, in either direction, until both
	// connections are reset. 0, the default, is without limit: a database client
	// may be silent for hours. Set it before the first Start.
	Idle time.Duration

	mu     sync.Mutex
	pairs  map[*pair]struct{}
	closed bool

	toOrigin, toCaller atomic.Uint64
}

// Flow is what went through a pair.
type Flow struct {
	ToOrigin, ToCaller uint64 // bytes
	// Err is nil if both sides ended. Else both connections were reset: it is the
	// error of the one that failed, ErrIdle or ErrCut.
	Err error
}

// Errors of a Flow that are not those of a connection.
var (
	ErrIdle = errors.New("no byte moved for too long")
	ErrCut  = errors.New("cut by the relay's end")
)

// Start has bytes moved both ways until both sides have ended or one fails; then
// both connections are closed and done is called. It does not wait for that, so
// that its caller need not keep a goroutine, with a stack that has grown, for each
// connection.
func (r *Relay) Start(caller, origin *net.TCPConn, done func(Flow)) {
	p := &pair{relay: r, caller: caller, origin: origin, done: done}
	if !r.add(p) {
		p.reset(ErrCut)
		p.finish()
		return
	}
	if r.Idle > 0 {
		p.unwatch = p.watch(r.Idle)
	}
	go p.move(caller, origin, &p.toCaller, &r.toCaller)
	go p.move(origin, caller, &p.toOrigin, &r.toOrigin)
}

// Open is the number of pairs that are being relayed.
func (r *Relay) Open() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.pairs)
}

// Bytes is how many bytes were moved in all, those of open pairs included.
func (r *Relay) Bytes() (toOrigin, toCaller uint64) {
	return r.toOrigin.Load(), r.toCaller.Load()
}

// Close resets all pairs, and those of a later Start. It does not wait.
func (r *Relay) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	for p := range r.pairs {
		p.reset(ErrCut)
	}
}

func (r *Relay) add(p *pair) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return false
	}
	if r.pairs == nil {
		r.pairs = make(map[*pair]struct{})
	}
	r.pairs[p] = struct{}{}
	return true
}

func (r *Relay) remove(p *pair) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.pairs, p)
}
