package listen

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// race is between a caller that says nothing and the origin, which may speak
// first. It ends when the origin has spoken, has ended the connection, or cannot
// be reached. A nil race has not begun.
type race struct {
	caller  *net.TCPConn // its read deadline is put into the past when the race is over
	buffers *sync.Pool   // of *[smallPeek]byte
	cancel  context.CancelFunc
	done    chan struct{}

	mu      sync.Mutex
	origin  *net.TCPConn
	stopped bool
	ended   bool
	err     error // why the origin cannot be reached
}

func startRace(ctx context.Context, dial Dial, caller *net.TCPConn, buffers *sync.Pool) *race {
	ctx, cancel := context.WithCancel(ctx)
	r := &race{caller: caller, buffers: buffers, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(r.done)
		if r.run(ctx, dial) {
			_ = r.caller.SetReadDeadline(longAgo()) // fails if it is closed, which wakes too
		}
	}()
	return r
}

// run says whether the race is over.
func (r *race) run(ctx context.Context, dial Dial) bool {
	origin, err := dial(ctx)
	r.mu.Lock()
	r.origin, r.err, r.ended = origin, err, err != nil
	stopped := r.stopped
	r.mu.Unlock()
	if err != nil || stopped {
		return !stopped
	}

	err = r.speaks(origin)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = !r.stopped
	if !errors.Is(err, io.EOF) {
		r.err = err
	}
	return r.ended
}

// speaks waits for the origin's first byte, or for its end.
func (r *race) speaks(origin *net.TCPConn) error {
	p, err := newPeeker(origin, nil, r.buffers)
	if err != nil {
		return err
	}
	defer p.release()
	_, err = p.more()
	return err
}

// over tells whether the race has ended.
func (r *race) over() bool {
	if r == nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ended
}

// failure is why the origin cannot be reached, nil if it can.
func (r *race) failure() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// stop ends the race, and gives the connection to the origin if there is one.
func (r *race) stop() *net.TCPConn {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	r.stopped = true
	if r.origin != nil {
		_ = r.origin.SetReadDeadline(longAgo()) // as above
	}
	r.mu.Unlock()
	r.cancel()
	<-r.done
	if r.origin != nil {
		_ = r.origin.SetReadDeadline(time.Time{}) // as above
	}
	return r.origin
}
