package http1

import (
	"sync"
	"sync/atomic"
	"time"
)

// cut says why the watch ended a wait; a guard holds it in place of a time. Values are below 0.
type cut int64

const (
	uncut   cut = -iota
	late        // nothing moved for too long
	left        // the caller is gone
	closed      // Server.Close
	retired     // idle while draining
)

// guard is the time limit of one caller's connection and of the origin's connection that serves it.
// Setting it is one atomic step, so that no timer and no deadline of a socket has to be moved while
// bytes flow: the watch looks at all guards a few times a second.
type guard struct {
	watch  *watch
	due    atomic.Int64 // when the watch cuts; 0: never; below 0: it has, with that cut
	limit  atomic.Int64 // what touch extends due by
	caller *wire
	origin atomic.Pointer[wire]
	mu     sync.Mutex    // held while the watch cuts
	gone   chan struct{} // closed by a cut; nil: nobody has asked for it

	exchanges atomic.Uint64 // odd: a request is in flight, and the caller is looked after
	tunnel    atomic.Bool   // both sides are being read: nobody needs to look
	// of the watch alone:
	seen    uint64 // exchanges at the last tick
	seenDue int64  // due at the last tick
	strike  int    // ticks for which the caller has sent no more and nothing has moved
}

// within starts a limit, 0 or below for none. If the guard was cut already it stays so and within
// returns false.
func (g *guard) within(d time.Duration) bool { return g.start(d, 0) }

// idle is within for a connection that waits for a request: what retire may cut.
func (g *guard) idle(d time.Duration) bool { return g.start(d, idleBit) }

// idleBit is set in the times of idle connections and in no other: a connection that starts an
// exchange changes its time, so that a cut that was meant for an idle one misses.
const idleBit = 1

func (g *guard) start(d time.Duration, bit int64) bool {
	limit := int64(0)
	switch {
	case d > 0:
		limit = int64(d+2*g.watch.tick) &^ idleBit // the next tick may count so much of the time before
	case bit != 0:
		limit = int64(100 * 365 * 24 * time.Hour)
	}
	g.limit.Store(limit | bit)
	return g.touch()
}

// touch starts the limit anew: something moved.
func (g *guard) touch() bool {
	due := g.limit.Load()
	if due > 0 {
		due += g.watch.now.Load()
	}
	for {
		old := g.due.Load()
		if old < 0 {
			return false
		}
		if old == due || g.due.CompareAndSwap(old, due) {
			return true
		}
	}
}

// why is the cut that was made, uncut if none was.
func (g *guard) why() cut {
	if due := g.due.Load(); due < 0 {
		return cut(due)
	}
	return uncut
}

// parting is closed by the next cut, or is if there was one.
func (g *guard) parting() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.gone == nil {
		g.gone = make(chan struct{})
	}
	gone := g.gone
	if g.why() != uncut {
		g.tell()
	}
	return gone
}

// tell is called with mu.
func (g *guard) tell() {
	if g.gone != nil {
		close(g.gone)
		g.gone = nil
	}
}

// resume makes the caller's connection usable again after a cut, for a last word to it. The
// origin's connection of that time must not be used any more.
func (g *guard) resume() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.due.Load() == int64(closed) {
		return
	}
	g.due.Store(0)
	g.caller.calm()
}

// cut ends every wait on both connections, if the guard still is as it was seen.
func (g *guard) cut(why cut, seen int64) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if seen < 0 || !g.due.CompareAndSwap(seen, int64(why)) {
		return false
	}
	if o := g.origin.Load(); o != nil {
		o.wake()
	}
	g.caller.wake()
	g.tell()
	return true
}

// settling is how long a connection is left idle once the Server drains: the caller may have sent a
// request on it just now.
const settling = time.Second

// retire cuts a connection that is idle, as soon as it has been so for long enough.
func (g *guard) retire() {
	for {
		due, now := g.due.Load(), g.watch.now.Load()
		if due < 0 || due&idleBit == 0 {
			return
		}
		until := (due - g.limit.Load() + int64(settling)) | idleBit
		if now >= until && g.cut(retired, due) || now < until && g.due.CompareAndSwap(due, until) {
			return
		}
	}
}

// end cuts whatever is going on, for good.
func (g *guard) end() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.due.Store(int64(closed))
	if o := g.origin.Load(); o != nil {
		o.wake()
	}
	g.caller.wake()
	g.tell()
}

const patience = 300 * time.Millisecond // how long a caller that sends no more is given before it counts as gone

// check is what the watch does with one guard at one tick.
func (g *guard) check(now int64) {
	if due := g.due.Load(); due > 0 && now > due {
		g.cut(late, due)
		return
	}
	n, due := g.exchanges.Load(), g.due.Load()
	fresh := n != g.seen || due != g.seenDue // something has moved since the last tick
	g.seen, g.seenDue = n, due
	if n&1 == 0 || fresh || g.tunnel.Load() {
		g.strike = 0
		return
	}
	state := present
	_ = g.caller.raw.Control(func(fd uintptr) { state = departed(fd) })
	if state == present {
		g.strike = 0
		return
	}
	g.strike++
	if state == parted || time.Duration(g.strike)*g.watch.tick > patience {
		g.cut(left, due)
	}
}

// watch looks after the guards of one Server. Its goroutine runs while there are any.
type watch struct {
	tick time.Duration
	now  atomic.Int64 // the time that was watched, as of the last tick
	last int64        // monotonic, of the last tick

	mu      sync.Mutex
	callers map[*caller]struct{}
	running bool
}

func (w *watch) add(c *caller) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.callers[c] = struct{}{}
	if !w.running {
		w.running = true
		w.last = monotonic()
		go w.run()
	}
}

func (w *watch) remove(c *caller) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.callers, c)
}

func (w *watch) len() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.callers)
}

// each calls f for every caller that is connected.
func (w *watch) each(f func(c *caller)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.callers {
		f(c)
	}
}

func (w *watch) run() {
	t := time.NewTicker(w.tick)
	defer t.Stop()
	for range t.C {
		if !w.look() {
			return
		}
	}
}

// look checks every guard; false if there is none and the watch may end. Of a time in which it could not look it counts two
// ticks: the process stood still, and whatever would have moved then did not have the chance.
func (w *watch) look() bool {
	now := monotonic()
	passed := min(now-w.last, int64(2*w.tick)) &^ idleBit
	w.last = now
	now = w.now.Add(passed)
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.callers {
		c.guard.check(now)
	}
	w.running = len(w.callers) > 0
	return w.running
}
