package upstream

import (
	"sync/atomic"
	"time"

	"graylane/internal/http1"
)

// Version is one version of a service as a policy wants it served.
type Version struct {
	Service, Tag string
	// Base marks the version that serves what no other does: never more than half
	// of its endpoints are taken out.
	Base     bool
	Targets  []Target // known so far
	Balance  Balance
	Check    *Check // nil: none but what becomes of requests
	Limit    Limit
	Retries  int // further endpoints that a request may try
	Timeouts Timeouts
	Protocol string // of the Protocol constants; "": ProtocolHTTP1
}

// Timeouts are those of requests to a version. 0 is the default of
// [http1.OriginConfig], below 0 is none.
type Timeouts struct{ Connect, Header, Idle time.Duration }

func (t Timeouts) over(cfg http1.OriginConfig) http1.OriginConfig {
	for _, c := range []struct {
		to   *time.Duration
		from time.Duration
	}{{&cfg.Connect, t.Connect}, {&cfg.Header, t.Header}, {&cfg.Idle, t.Idle}} {
		if c.from != 0 {
			*c.to = c.from
		}
	}
	return cfg
}

// Group is the endpoints of one version, as one policy wants them used.
type Group struct {
	version Version
	roster  *roster
	list    *list // guarded by the roster's mu
	source  source
	doubt   func() // of what the source has found; nil: there is none
	view    atomic.Pointer[view]
}

// OnDoubt has f called, often and from anywhere, when an endpoint cannot be reached, is
// about to end or fails a check, until it is taken out for that, and when a request would
// go to the version and there is none: the source may know better by now. It is for before
// the group is used.
func (g *Group) OnDoubt(f func()) { g.doubt = f }

func (g *Group) doubtSource() {
	if g.doubt != nil {
		g.doubt()
	}
}

// Counts returns how many endpoints the version has that may get requests at all,
// and how many of them may be used now.
func (g *Group) Counts() (total, usable int) {
	v := g.view.Load()
	if len(v.list.members) == 0 {
		g.doubtSource() // who asks has a request to send
	}
	usable = len(v.order)
	if usable == 0 && v.isDue(g.roster.table.now()) {
		usable = 1 // for a trial
	}
	return len(v.list.members), usable
}

// Set replaces the endpoints by those that a source has found. Those that stay
// keep their connections, health and counts.
func (g *Group) Set(targets []Target) {
	g.roster.mu.Lock()
	defer g.roster.mu.Unlock()
	g.source = source{}
	g.replace(targets)
}

// Partial is Set where the source could find only part of them anew, and Stale for
// the rest.
func (g *Group) Partial(targets []Target, err error) {
	g.roster.mu.Lock()
	defer g.roster.mu.Unlock()
	g.stale(err)
	g.replace(targets)
}

// replace is called with the roster's mu.
func (g *Group) replace(targets []Target) {
	r := g.roster
	if !r.hears(g) {
		return
	}
	r.fill(g, targets)
	if g == r.groups[0] { // in use; of one to come, Commit sees to it
		r.speak(g, false)
	}
	r.tidy()
	r.table.wake()
}

// Stale says that the source of the endpoints has failed: they are as they last
// were.
func (g *Group) Stale(err error) {
	g.roster.mu.Lock()
	defer g.roster.mu.Unlock()
	g.stale(err)
}

func (g *Group) stale(err error) {
	if g.source.err == nil {
		g.source.since = g.roster.table.now()
	}
	g.source.err = err
}

// source is how the source of a group's endpoints is.
type source struct {
	err   error // nil: well
	since time.Time
}
