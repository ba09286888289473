package relay

import (
	"net"
	"sync"
	"testing"
)

// origin is what stands behind the far sidecar. What it does on a connection is up to each test.
type origin struct {
	listener net.Listener
	work     sync.WaitGroup

	mu       sync.Mutex
	t        testing.TB
	play     func(p *peer)
	open     map[*peer]struct{}
	accepted int
}

// listen starts an origin that closes every connection at once.
func listen(t testing.TB) *origin {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o := &origin{listener: l, t: t, play: func(*peer) {}, open: map[*peer]struct{}{}}
	o.work.Go(o.accept)
	t.Cleanup(func() {
		_ = l.Close()
		o.plays(t, func(*peer) {})
		o.work.Wait()
	})
	return o
}

func (o *origin) address() string { return o.listener.Addr().String() }

// plays ends all connections of before; new ones are played, and closed when play returns.
func (o *origin) plays(t testing.TB, play func(p *peer)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for p := range o.open {
		_ = p.Close()
	}
	o.t, o.play, o.accepted = t, play, 0
}

// connections is how many came since plays.
func (o *origin) connections() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.accepted
}

func (o *origin) accept() {
	for {
		c, err := o.listener.Accept()
		if err != nil {
			return
		}
		o.mu.Lock()
		p, play := newPeer(o.t, c), o.play
		o.open[p] = struct{}{}
		o.accepted++
		o.mu.Unlock()
		o.work.Go(func() {
			play(p)
			_ = c.Close()
			o.mu.Lock()
			delete(o.open, p)
			o.mu.Unlock()
		})
	}
}
