package upstream

import (
	"sync"
	"sync/atomic"
	"time"
)

// origins makes origins at need and forgets those that nobody asks for. Callers
// choose the addresses, so that their number is bounded.
type origins struct {
	now func() time.Time // nil: time.Now

	mu    sync.RWMutex
	swept time.Time
	cfg   originConfig
	known map[string]*visited
}

type visited struct {
	origin *Origin
	last   atomic.Int64 // Unix seconds
}

const (
	// forget is longer than a pooled connection lives, so that nothing warm is lost.
	forget = 5 * time.Minute
	// sweepEvery keeps an app that calls ever new addresses from paying for a look at
	// all that are known each time.
	sweepEvery = time.Minute
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
	v := &visited{origin: o.cfg.origin(address)}
	v.last.Store(now.Unix())
	o.known[address] = v
	return v
}

// sweep makes room for one more: it forgets what was not asked for of late and,
// where all of it was, anything: such an app has no use for what is remembered.
func (o *origins) sweep(now time.Time) {
	if now.Sub(o.swept) >= sweepEvery {
		o.swept = now
		for address, v := range o.known {
			if now.Unix()-v.last.Load() > int64(forget/time.Second) {
				o.drop(address)
			}
		}
	}
	for address := range o.known {
		if len(o.known) < maxOrigins {
			return
		}
		o.drop(address)
	}
}

func (o *origins) drop(address string) {
	o.known[address].origin.Close() // requests under way finish
	delete(o.known, address)
}

// reset forgets all of them and makes the next with the settings of cfg.
func (o *origins) reset(cfg originConfig) {
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
