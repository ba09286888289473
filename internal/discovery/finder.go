package discovery

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"graylane/internal/upstream"
)

// Sink takes what a source finds.
type Sink interface {
	// Set replaces what was found before: targets is all there is.
	Set(targets []upstream.Target)
	// Partial replaces what was found before by what could be found anew and, for the
	// rest, what was known of it: the source has failed for that.
	Partial(targets []upstream.Target, err error)
	// Stale says that the source has failed: what was found last is all we know.
	Stale(err error)
}

// Source finds endpoints.
type Source interface {
	// Run sends every full set to the sink, the first as soon as it can, and every
	// failure, until ctx ends. A message from doubts says that what was found last may
	// be wrong: somebody is not there.
	Run(ctx context.Context, to Sink, doubts <-chan struct{})
	// String names the source; two that have the same name find the same.
	String() string
}

// Finder runs the sources of the policy in force. It is safe for concurrent use,
// but for changes, of which one is made at a time. The zero Finder is ready.
type Finder struct {
	Log *slog.Logger // nil: nothing is logged

	running map[string]*follower // by name of the source
	group   sync.WaitGroup
}

// Change is the sources of a policy that is to come into force.
type Change struct {
	ctx    context.Context
	finder *Finder
	sinks  map[*follower][]Sink
}

// Begin starts to change the sources to those of a new policy. New ones run in
// ctx. The caller names them, waits for them, puts the policy in force, and then
// calls Commit.
func (f *Finder) Begin(ctx context.Context) *Change {
	if f.running == nil {
		f.running = make(map[string]*follower)
	}
	return &Change{ctx: ctx, finder: f, sinks: make(map[*follower][]Sink)}
}

// Follow makes the sink hear of what the source finds from now on, and at once of
// what it has found. Whoever notices that it may be wrong calls doubt, which returns
// at once.
func (c *Change) Follow(s Source, to Sink) (doubt func()) {
	f := c.finder
	follower := f.running[s.String()]
	if follower == nil {
		follower = newFollower(s, f.log())
		f.running[s.String()] = follower
		ctx, stop := context.WithCancel(c.ctx)
		follower.stop = stop
		f.group.Go(func() { s.Run(ctx, follower, follower.doubts) })
	}
	follower.add(to)
	c.sinks[follower] = append(c.sinks[follower], to)
	return follower.doubt
}

// Wait returns when every source has found something or failed, at the latest
// after that time, which is for sources that do neither.
func (c *Change) Wait(most time.Duration) {
	timer := time.NewTimer(most)
	defer timer.Stop()
	for follower := range c.sinks {
		select {
		case <-follower.heard:
		case <-timer.C:
			return
		case <-c.ctx.Done():
			return
		}
	}
}

// Commit ends the sources that the change does not name, and the sinks of before
// hear no more.
func (c *Change) Commit() {
	for name, follower := range c.finder.running {
		sinks, named := c.sinks[follower]
		follower.keep(sinks)
		if !named {
			follower.stop()
			delete(c.finder.running, name)
		}
	}
}

// Close waits until the sources have ended, whose context must have.
func (f *Finder) Close() { f.group.Wait() }

func (f *Finder) log() *slog.Logger {
	if f.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return f.Log
}

// follower is a source that runs, and who hears of it.
type follower struct {
	name   string
	log    *slog.Logger
	stop   context.CancelFunc
	heard  chan struct{} // closed by the first set or failure
	doubts chan struct{} // holds one

	mu    sync.Mutex
	sinks []Sink
	known bool // it has found something, if only nothing
	last  []upstream.Target
	err   error // why it fails; nil: it does not
}

func newFollower(s Source, log *slog.Logger) *follower {
	return &follower{name: s.String(), log: log, heard: make(chan struct{}), doubts: make(chan struct{}, 1)}
}

func (f *follower) doubt() {
	select {
	case f.doubts <- struct{}{}:
	default:
	}
}

// Set is part of Sink.
func (f *follower) Set(targets []upstream.Target) {
	f.mu.Lock()
	defer f.mu.Unlock()
	same := f.known && f.err == nil && slices.Equal(f.last, targets)
	if f.err != nil {
		f.log.Info("source of endpoints has recovered", "source", f.name, "endpoints", len(targets))
	}
	f.first()
	f.known, f.last, f.err = true, targets, nil
	if same {
		return
	}
	for _, sink := range f.sinks {
		sink.Set(targets)
	}
}

// Partial is part of Sink.
func (f *follower) Partial(targets []upstream.Target, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	same := f.known && f.err != nil && slices.Equal(f.last, targets)
	f.fails(err)
	f.known, f.last = true, targets
	if same {
		return
	}
	for _, sink := range f.sinks {
		sink.Partial(targets, err)
	}
}

// Stale is part of Sink.
func (f *follower) Stale(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fails(err)
	for _, sink := range f.sinks {
		sink.Stale(err)
	}
}

// fails notes that the source does.
func (f *follower) fails(err error) {
	if f.err == nil { // once, not every few seconds
		f.log.Warn("source of endpoints fails, what it found last stays in use",
			"source", f.name, "endpoints", len(f.last), "error", err)
	}
	f.first()
	f.err = err
}

// first notes that the source has been heard.
func (f *follower) first() {
	if !f.known && f.err == nil {
		close(f.heard)
	}
}

func (f *follower) add(to Sink) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sinks = append(f.sinks, to)
	if f.known {
		to.Set(f.last)
	}
	if f.err != nil {
		to.Stale(f.err)
	}
}

func (f *follower) keep(sinks []Sink) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sinks = sinks
}
