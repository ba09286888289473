package upstream

import (
	"sync"
	"sync/atomic"
	"time"

	"graylane/internal/http1"
)

// origins makes origins at need and forgets those that nobody asks for. Callers
// choose the addresses, so that their number is bounded.
type origins struct {
	now func() time.Time // nil: time.Now

	mu    sync.RWMutex
	cfg   http1.OriginConfig
	known map[string]*visited
}

type visited struct {
	origin *Origin
	last   atomic.Int64 // Unix seconds
}

const (
	// forget is longer than a pooled connection lives, so that nothing warm is lost.
	forget = 5 * time.Minute
	// maxOrigins bounds the memory that an app which calls ever new addresses takes.
	maxOrigins = 4096
)

func (o *origins) get(address []byte) *Origin {
	now := o.clock()
	o.mu.RLock()
	v := o.known[string(address)]
	o.mu.RUnlock()
	if v == nil {
		v = o.add(string(address), now)
	}
	if v.last.Load() != now.Unix() { // one write a second, not one a request
		v.last.Store(now.Unix())
	}
	return v.origin
}

func (o *origins) add(address string, now time.Time) *visited {
	o.mu.Lock()
	defer o.mu.Unlock()
	if v := o.known[address]; v != nil {
		return v
	}
	if o.known == nil {
		o.known = make(map[string]*visited)
	}
	o.sweep(now)
	v := &visited{origin: NewOrigin(address, o.cfg)}
	v.last.Store(now.Unix())
	o.known[address] = v
	return v
}

// sweep makes room for one more: it forgets what was not asked for of late and,
// if all of it was, what was asked for longest ago.
func (o *origins) sweep(now time.Time) {
	oldest := ""
	for address, v := range o.known {
		switch {
		case now.Unix()-v.last.Load() > int64(forget/time.Second):
			o.drop(address)
		case oldest == "" || v.last.Load() < o.known[oldest].last.Load():
			oldest = address
		}
	}
	if len(o.known) >= maxOrigins {
		o.drop(oldest)
	}
}

func (o *origins) drop(address string) {
	o.known[address].origin.Close() // requests under way finish
	delete(o.known, address)
}

// reset forgets all of them and makes the next with the settings of cfg.
func (o *origins) reset(cfg http1.OriginConfig) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for address := range o.known {
		o.drop(address)
	}
	o.cfg = cfg
}

func (o *origins) clock() time.Time {
	if o.now != nil {
		return o.now()
	}
	return time.Now()
}
