package http1

import (
	"context"
	"log/slog"
	"net"
	"slices"
	"sync"
	"time"
)

// OriginConfig says how to speak to an Origin. The zero value works.
type OriginConfig struct {
	Connect time.Duration // to connect, default 5 s
	Header  time.Duration // from the end of the request to the head of the reply, default 60 s, below 0: no limit
	Idle    time.Duration // without a byte moving while a body is on its way, default 5 min, below 0: no limit
	Keep    time.Duration // an unused connection is kept, default 50 s
	MaxIdle int           // unused connections kept, default 256, below 0: none
	Retries int           // how often an idempotent request is sent again after a kept connection broke, default 1, below 0: never
	Sidecar bool          // a sidecar may be there: what it says became of a request that its app did not answer is believed
	// Dial connects, default net.Dialer. The connection must be backed by a socket (syscall.Conn). An
	// *Error that it returns is passed on as it is.
	Dial func(ctx context.Context, addr string) (net.Conn, error)
	Log  *slog.Logger // hears of replies that are not valid, default none
}

// Origin is one address that requests are sent to, with its pool of connections. The one used last
// is used next, so that what is not needed grows old and is closed.
type Origin struct {
	addr string
	cfg  OriginConfig

	mu     sync.Mutex
	idle   []kept // oldest first
	habit  habit
	reaper *time.Timer // made with the first kept connection
	armed  bool        // reaper is going to fire
	closed bool

	complaints *Complaints
}

type kept struct {
	wire  *wire
	since time.Time
	most  time.Duration // that it may be idle
}

// NewOrigin connects to nothing yet.
func NewOrigin(addr string, cfg OriginConfig) *Origin {
	cfg = cfg.Filled()
	return &Origin{addr: addr, cfg: cfg, complaints: NewComplaints(addr, cfg.Log)}
}

// Filled is c with the defaults in place of what is zero.
func (c OriginConfig) Filled() OriginConfig {
	orDefault := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	orDefault(&c.Connect, 5*time.Second)
	orDefault(&c.Header, 60*time.Second)
	orDefault(&c.Idle, 5*time.Minute)
	orDefault(&c.Keep, 50*time.Second)
	if c.MaxIdle == 0 {
		c.MaxIdle = 256
	}
	if c.Retries == 0 {
		c.Retries = 1
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Dial == nil {
		c.Dial = func(ctx context.Context, addr string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "tcp", addr)
		}
	}
	return c
}

// Addr is the address that NewOrigin was given.
func (o *Origin) Addr() string { return o.addr }

// Close closes the idle connections; busy ones are closed when they finish. Requests may still be
// sent, each on a connection of its own.
func (o *Origin) Close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	for _, k := range o.idle {
		k.wire.close()
	}
	o.idle = nil
}

// take lends the connection that was used last, and says how long it has been idle; nil if there is
// none. Whether it is still good is for the taker to find out.
func (o *Origin) take(now time.Time) (*wire, time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for n := len(o.idle); n > 0; n = len(o.idle) {
		k := o.idle[n-1]
		o.idle[n-1] = kept{}
		o.idle = o.idle[:n-1]
		idle := now.Sub(k.since)
		if idle <= o.habit.limit(k.most) {
			return k.wire, idle
		}
		if k.wire.quiet() {
			o.habit.sawOpen(idle)
		} else {
			o.habit.sawEnd(idle)
		}
		k.wire.close()
	}
	return nil, 0
}

// ended hears of a connection that take lent and that had ended by then.
func (o *Origin) ended(idle time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.habit.sawEnd(idle)
}

// put takes a connection back that has finished an exchange in good order, to keep it for most or less.
func (o *Origin) put(w *wire, now time.Time, most time.Duration) {
	w.release()
	w.want = small
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed || len(o.idle) >= o.cfg.MaxIdle || w.buf != nil {
		w.close()
		return
	}
	o.idle = append(o.idle, kept{wire: w, since: now, most: min(most, o.cfg.Keep)})
	if o.armed {
		return
	}
	o.armed = true
	if o.reaper == nil {
		o.reaper = time.AfterFunc(o.cfg.Keep, o.reap)
	} else {
		o.reaper.Reset(o.cfg.Keep)
	}
}

// reap closes what nobody took for so long.
func (o *Origin) reap() {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	old := func(k kept) bool {
		if now.Sub(k.since) <= k.most {
			return false
		}
		k.wire.close()
		return true
	}
	o.idle = slices.DeleteFunc(o.idle, old)
	if o.armed = len(o.idle) > 0; o.armed {
		o.reaper.Reset(o.cfg.Keep / 2)
	}
}

// dial connects anew.
func (o *Origin) dial(bufs *buffers) (*wire, *Error) {
	ctx, cancel := context.WithTimeout(context.Background(), o.cfg.Connect)
	defer cancel()
	c, err := o.cfg.Dial(ctx, o.addr)
	if err == nil {
		var w *wire
		if w, err = newWire(c, bufs); err == nil {
			return w, nil
		}
		_ = c.Close()
	}
	return nil, ConnectError(ctx, o.addr, err)
}
