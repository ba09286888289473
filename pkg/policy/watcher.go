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

	// Bad is called once for each new content that is no good policy. nil: the
	// log line is all.
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
	log   *slog.Logger
	state state
	last  content // what was read last
}

// follow looks at the file after events and at every tick, until ctx ends.
func (k *keeper) follow(ctx context.Context, events *events) {
	interval := k.every
	if interval == 0 {
		interval = every
	}
	tick := time.NewTicker(interval)
	defer tick.Stop()
	pause := time.NewTimer(quiet)
	defer pause.Stop()
	var since time.Time // of the first event not yet answered; zero: none
	for {
		select {
		case <-ctx.Done():
			return
		case <-events.happened():
			now := time.Now()
			if since.IsZero() {
				since = now
			}
			pause.Reset(min(quiet, storm-now.Sub(since)))
			continue
		case <-pause.C:
		case <-tick.C:
		}
		since = time.Time{}
		events.rewatch()
		k.look()
	}
}

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
		k.log.Warn("no last good policy", "state", k.State, "error", err)
		return
	}
	k.log.Warn("last good policy in force", "state", k.State, "digest", p.Digest)
	k.Apply(p)
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
	if err != nil {
		k.log.Error("bad policy, the last good one stays", "path", k.Path, "error", err)
		if k.Bad != nil {
			k.Bad(err)
		}
		return
	}
	k.Apply(p)
	if err := k.state.save(k.Path, &now); err != nil {
		k.log.Warn("last good policy not kept", "state", k.State, "error", err)
	}
	k.last.data = nil // only its sum is asked from now on
}
