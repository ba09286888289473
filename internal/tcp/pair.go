package tcp

import (
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// pair is two connections between which bytes move.
type pair struct {
	relay              *Relay
	caller, origin     *net.TCPConn
	done               func(Flow)
	toOrigin, toCaller atomic.Uint64
	sides              atomic.Int32 // that have ended
	moved              atomic.Int64 // when a byte moved last, in Unix nanoseconds; kept only with a limit
	unwatch            func()       // nil without one

	end sync.Once
	err error // why the pair was reset; nil if it was not
}

// move moves bytes from one connection to the other until the first has ended,
// and then ends that side of the second. The side that ends last ends the pair.
func (p *pair) move(to, from *net.TCPConn, one, all *atomic.Uint64) {
	source, err := newSource(from)
	for err == nil {
		var n int64
		n, err = source.moveTo(to)
		one.Add(uint64(n))
		all.Add(uint64(n))
		if p.relay.Idle > 0 {
			p.moved.Store(time.Now().UnixNano())
		}
	}
	last := p.sides.Add(1) == 2
	if errors.Is(err, io.EOF) {
		err = nil
		if !last { // closing does it too
			err = to.CloseWrite()
		}
	}
	if err != nil {
		p.reset(err)
	}
	if last {
		p.finish()
	}
}

// reset ends both connections, so that both peers learn that bytes were lost.
func (p *pair) reset(cause error) {
	p.end.Do(func() {
		p.err = cause
		for _, conn := range []*net.TCPConn{p.caller, p.origin} {
			// The error is that of a connection that is broken already.
			_ = conn.SetLinger(0)
			_ = conn.Close()
		}
	})
}

// finish closes both connections, whose sides have ended, and tells what went
// through them.
func (p *pair) finish() {
	if p.unwatch != nil {
		p.unwatch()
	}
	p.end.Do(func() {
		// All bytes were handed to the kernel; what becomes of them is not told here.
		_ = p.caller.Close()
		_ = p.origin.Close()
	})
	p.relay.remove(p)
	p.done(Flow{ToOrigin: p.toOrigin.Load(), ToCaller: p.toCaller.Load(), Err: p.err})
}

// watch resets the pair when no byte has moved for the limit. It returns what
// ends the watch.
func (p *pair) watch(limit time.Duration) (stop func()) {
	p.moved.Store(time.Now().UnixNano())
	var mu sync.Mutex
	var timer *time.Timer
	mu.Lock()
	defer mu.Unlock()
	timer = time.AfterFunc(limit, func() {
		mu.Lock()
		defer mu.Unlock()
		left := limit - time.Since(time.Unix(0, p.moved.Load()))
		if left <= 0 {
			p.reset(ErrIdle)
			return
		}
		timer.Reset(left)
	})
	return func() { timer.Stop() }
}
