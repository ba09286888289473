package policy

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	quiet = 100 * time.Millisecond // the kubelet and editors write several events per update
	storm = 400 * time.Millisecond // events without a pause do not put an update off for longer
	every = 5 * time.Second        // events get lost, and inotify may not be had
)

// Watcher keeps the policy file at Path in force: it reads it when Run starts,
// 100 ms after the last of several events in its directory, and every 5 s.
type Watcher struct {
	Path string // the policy file

	// State is a folder that keeps the last good policy over a restart: it is
	// applied when Run starts and finds no good one at Path. "": none.
	State string

	// Apply is called with each good policy whose content differs from what
	// was read before. The next one is not read before it returns.
	Apply func(*Policy)

	// Bad is called once, with Faults, for each new content that is no good
	// policy. nil: the log line is all.
	Bad func(error)

	Log *slog.Logger // nil: slog.Default()

	notify func() (*fsnotify.Watcher, error) // nil: fsnotify.NewWatcher
	every  time.Duration                     // 0: every
}

// Run works until ctx ends and then returns nil. Faults of the file are no
// errors of Run.
func (w *Watcher) Run(ctx context.Context) error {
	if w.Path == "" || w.Apply == nil {
		return errors.New("watch policy: no path or nothing to apply it to")
	}
	k := &keeper{Watcher: w, log: w.Log, state: state{dir: w.State}}
	if k.log == nil {
		k.log = slog.Default()
	}
	events := newEvents(w.Path, w.notify, k.log)
	defer events.close()
	k.start()
	k.follow(ctx, events)
	return nil
}

// keeper is a running Watcher.
type keeper struct {
	*Watcher
	log     *slog.Logger
	state   state
	last    content // what was read last
	inForce string  // digest of the policy that was applied last; "": none was
}

// follow looks at the file after events and at every tick, until ctx ends.
func (k *keeper) follow(ctx context.Context, events *events) {
	interval := k.every
	if interval == 0 {
		interval = every
	}
	tick := time.NewTicker(interval)
	defer tick.Stop()
	p := newPause()
	defer p.timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case change := <-events.changes:
			if events.concern(change.Name) {
				p.event()
			}
			continue
		case err := <-events.losses:
			k.log.Debug("events are lost, something has happened", "error", err)
			p.event()
			continue
		case <-p.timer.C:
		case <-tick.C:
		}
		p.over()
		k.look()
		if events.rewatch(k.last.lists) {
			p.event() // something may have happened before there was the watch
		}
	}
}

// pause is the wait for the last of several events.
type pause struct {
	timer *time.Timer
	since time.Time // of the first event that has not been looked at; zero: none
}

// newPause is over soon: what changed before there were watches is seen then.
func newPause() *pause { return &pause{timer: time.NewTimer(quiet)} }

func (p *pause) event() {
	now := time.Now()
	if p.since.IsZero() {
		p.since = now
	}
	p.timer.Reset(min(quiet, storm-now.Sub(p.since)))
}

func (p *pause) over() { p.since = time.Time{} }

// start reads the file for the first time. Where it is no good, the state is put
// in force before that is told, so that what is known last is that the file is bad.
func (k *keeper) start() {
	p, now, err := load(k.Path)
	if err != nil && k.State != "" {
		k.restore()
	}
	k.settle(p, now, err)
}

func (k *keeper) restore() {
	p, err := k.state.load()
	if err != nil {
		k.log.Warn("no last good policy", "state", k.State, "faults", err)
		return
	}
	k.apply(p)
	k.log.Warn("last good policy in force", "state", k.State, "digest", p.Digest)
	for _, s := range p.Services {
		for _, v := range s.Versions {
			if v.Source.File != "" {
				k.log.Warn("endpoints are not kept with the last good policy, they are read where they are",
					"service", s.Name, "tag", v.Tag, "file", v.Source.File)
			}
		}
	}
}

// look reads the file if it has changed.
func (k *keeper) look() {
	if !k.last.changed(k.Path) {
		return
	}
	if p, now, err := load(k.Path); !now.same(&k.last) {
		k.settle(p, now, err)
	}
}

// settle puts a policy that was read in force, or says why it cannot be.
func (k *keeper) settle(p *Policy, now content, err error) {
	k.last = now
	defer k.last.forget()
	if err != nil {
		k.refuse(err)
		return
	}
	k.apply(p)
	if err := k.state.save(&now); err != nil {
		k.log.Warn("last good policy not kept", "state", k.State, "error", err)
	}
}

func (k *keeper) apply(p *Policy) {
	k.Apply(p)
	k.inForce = p.Digest
}

// refuse says what is wrong with the file, and what that means.
func (k *keeper) refuse(err error) {
	if k.inForce == "" {
		k.log.Error("bad policy, and no other is in force", "path", k.Path, "faults", err)
	} else {
		k.log.Error("bad policy, the last good one stays in force", "path", k.Path, "digest", k.inForce, "faults", err)
	}
	if k.Bad != nil {
		k.Bad(err)
	}
}
