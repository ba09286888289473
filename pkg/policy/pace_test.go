package policy

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsnotify/fsnotify"
)

// paced is a Watcher at work on a clock of its own, with events that the test
// makes up.
type paced struct {
	path    string
	changes chan fsnotify.Event
	applied map[string]time.Time // when, by the name of the first rule
	bad     int
}

// pace runs a watcher in the bubble of the test, on generation 0.
func pace(t *testing.T) *paced {
	t.Helper()
	p := &paced{
		path:    filepath.Join(t.TempDir(), "policy.yaml"),
		changes: make(chan fsnotify.Event),
		applied: map[string]time.Time{},
	}
	writeText(t, p.path, generation(0))
	log := slog.New(slog.DiscardHandler)
	k := &keeper{log: log, Watcher: &Watcher{
		Path:  p.path,
		Apply: func(policy *Policy) { p.applied[policy.Rules[0].Name] = time.Now() },
		Bad:   func(error) { p.bad++ },
	}}
	none := func() (*fsnotify.Watcher, error) { return nil, errors.New("no inotify in a bubble") }
	events := newEvents(p.path, none, log)
	events.changes = p.changes
	events.whole = map[string]bool{filepath.Dir(p.path): true}
	k.start()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		k.follow(ctx, events)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return p
}

// event tells the watcher that something happened to the file.
func (p *paced) event() { p.changes <- fsnotify.Event{Name: p.path, Op: fsnotify.Write} }

// took returns how long after begun generation n was put in force.
func (p *paced) took(t *testing.T, n int, begun time.Time) time.Duration {
	t.Helper()
	synctest.Wait()
	at, ok := p.applied[fmt.Sprintf("g%d", n)]
	if !ok {
		t.Fatalf("generation %d is not in force after %v", n, time.Since(begun))
	}
	return at.Sub(begun)
}

func TestAChangeCountsWithinASecond(t *testing.T) {
	for name, gap := range map[string]time.Duration{
		"one event":                       0,
		"a storm":                         time.Millisecond,
		"events that never let it settle": 99 * time.Millisecond,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := pace(t)
				time.Sleep(time.Second) // ticks are far away
				begun := time.Now()
				writeText(t, p.path, generation(1))
				p.event()
				for gap > 0 && time.Since(begun) < time.Second {
					time.Sleep(gap)
					p.event()
				}
				time.Sleep(time.Second - time.Since(begun))
				if got := p.took(t, 1, begun); got > time.Second {
					t.Errorf("it took %v, want at most 1s", got)
				}
			})
		})
	}
}

func TestAnUpdateIsNotReadBetweenItsEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pace(t)
		time.Sleep(time.Second)
		begun := time.Now()
		for range 3 {
			writeText(t, p.path, "half of a policy: [")
			p.event()
			time.Sleep(90 * time.Millisecond)
		}
		writeText(t, p.path, generation(1))
		p.event()
		time.Sleep(time.Second)
		if p.took(t, 1, begun); p.bad > 0 {
			t.Errorf("half of the update was read %d times", p.bad)
		}
	})
}

func TestAChangeWithoutEventsCountsWithinSixSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pace(t)
		for n := range 3 {
			time.Sleep(every + 10*time.Millisecond) // just after a tick
			begun := time.Now()
			writeText(t, p.path, generation(n+1))
			time.Sleep(6 * time.Second)
			if got := p.took(t, n+1, begun); got > 6*time.Second {
				t.Errorf("it took %v, want at most 6s", got)
			}
		}
	})
}
