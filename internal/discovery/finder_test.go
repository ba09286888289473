package discovery

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"graylane/internal/upstream"
)

// fake is a source that the test speaks for.
type fake struct {
	name    string
	to      chan Sink // gets the sink when it runs
	stopped chan struct{}
	doubts  <-chan struct{} // set before it runs
}

func newFake(name string) *fake {
	return &fake{name: name, to: make(chan Sink, 1), stopped: make(chan struct{})}
}

func (f *fake) String() string { return f.name }

func (f *fake) Run(ctx context.Context, to Sink, doubts <-chan struct{}) {
	f.doubts = doubts
	f.to <- to
	<-ctx.Done()
	close(f.stopped)
}

// follow makes a change with the source for each of the sinks, and commits it.
func follow(ctx context.Context, f *Finder, s Source, sinks ...Sink) {
	change := f.Begin(ctx)
	for _, to := range sinks {
		change.Follow(s, to)
	}
	change.Commit()
}

func TestASourceRunsOnceForAllWhoFollowIt(t *testing.T) {
	var f Finder
	source := newFake("a")
	one, two := &sink{}, &sink{}
	follow(t.Context(), &f, source, one, two)
	(<-source.to).Set(targetsOf("a:1"))
	for _, to := range []*sink{one, two} {
		if diff := cmp.Diff(to.last(), []string{"a:1"}); diff != "" {
			t.Errorf("set differs (-got +want):\n%s", diff)
		}
	}
}

func TestASourceThatStaysRunsOnAndTellsWhatItHasFound(t *testing.T) {
	var f Finder
	source := newFake("a")
	before, after := &sink{}, &sink{}
	follow(t.Context(), &f, source, before)
	to := <-source.to
	to.Set(targetsOf("a:1"))
	to.Stale(errors.New("gone"))

	follow(t.Context(), &f, newFake("a"), after)
	if diff := cmp.Diff(after.last(), []string{"a:1"}); diff != "" || after.lastError() != "gone" {
		t.Errorf("the new sink has heard %q, and (-got +want):\n%s", after.lastError(), diff)
	}
	to.Set(targetsOf("b:1"))
	if diff := cmp.Diff(after.last(), []string{"b:1"}); diff != "" {
		t.Errorf("set differs (-got +want):\n%s", diff)
	}
	if sets, _ := before.counts(); sets != 1 {
		t.Errorf("the sink of before has heard %d sets, want 1", sets)
	}
}

func TestUntilTheCommitBothHear(t *testing.T) {
	var f Finder
	source := newFake("a")
	before, after := &sink{}, &sink{}
	follow(t.Context(), &f, source, before)
	change := f.Begin(t.Context())
	change.Follow(source, after)
	(<-source.to).Set(targetsOf("a:1"))
	for _, to := range []*sink{before, after} {
		if sets, _ := to.counts(); sets != 1 {
			t.Errorf("a sink has heard %d sets, want 1", sets)
		}
	}
}

func TestASourceThatIsNotNamedAnyMoreEnds(t *testing.T) {
	var f Finder
	source := newFake("a")
	follow(t.Context(), &f, source, &sink{})
	f.Begin(t.Context()).Commit()
	<-source.stopped
	f.Close()
}

func TestTheSameSetIsToldOnce(t *testing.T) {
	var f Finder
	source, to := newFake("a"), &sink{}
	follow(t.Context(), &f, source, to)
	from := <-source.to
	from.Set(targetsOf("a:1"))
	from.Set(targetsOf("a:1"))
	from.Stale(errors.New("gone"))
	from.Set(targetsOf("a:1")) // after a failure it says that all is well again
	if sets, _ := to.counts(); sets != 2 {
		t.Errorf("got %d sets, want 2", sets)
	}
}

func TestAFailureIsLoggedOnce(t *testing.T) {
	var text bytes.Buffer
	f := Finder{Log: slog.New(slog.NewTextHandler(&text, nil))}
	source := newFake("a")
	follow(t.Context(), &f, source, &sink{})
	from := <-source.to
	for range 3 {
		from.Stale(errors.New("gone"))
	}
	from.Set(nil)
	if got := strings.Count(text.String(), "source=a"); got != 2 || !strings.Contains(text.String(), "recovered") {
		t.Errorf("got the log %q, want one line for the failures and one for the recovery", text.String())
	}
}

func TestDoubtsReachTheSource(t *testing.T) {
	var f Finder
	source := newFake("a")
	doubt := f.Begin(t.Context()).Follow(source, &sink{})
	<-source.to
	doubt()
	doubt() // holds nobody up
	<-source.doubts
	select {
	case <-source.doubts:
		t.Error("two doubts at a time are two messages, want one")
	default:
	}
}

func TestAPartialFailureIsToldOnceAndStaysOne(t *testing.T) {
	var text bytes.Buffer
	f := Finder{Log: slog.New(slog.NewTextHandler(&text, nil))}
	source, to := newFake("a"), &sink{}
	follow(t.Context(), &f, source, to)
	from := <-source.to
	from.Set(targetsOf("a:1"))
	for range 3 {
		from.Partial(targetsOf("a:1", "b:1"), errors.New("no IPv4"))
	}
	if sets, errs := to.counts(); sets != 2 || errs != 1 {
		t.Errorf("got %d sets and %d failures, want 2 and 1", sets, errs)
	}
	if got := strings.Count(text.String(), "source=a"); got != 1 {
		t.Errorf("got the log %q, want one line", text.String())
	}
	from.Set(targetsOf("a:1", "b:1"))
	if sets, _ := to.counts(); sets != 3 || !strings.Contains(text.String(), "recovered") {
		t.Errorf("after the failure: got %d sets and the log %q, want 3 and that it recovered", sets, text.String())
	}
}

func TestWaitEndsWhenAllHaveSpoken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		var f Finder
		change := f.Begin(ctx)
		good, bad := newFake("good"), newFake("bad")
		change.Follow(good, &sink{})
		change.Follow(bad, &sink{})
		go func() {
			time.Sleep(time.Second)
			(<-good.to).Set([]upstream.Target{})
			time.Sleep(time.Second)
			(<-bad.to).Stale(errors.New("no server"))
		}()
		begin := time.Now()
		change.Wait(time.Minute)
		if took := time.Since(begin); took != 2*time.Second {
			t.Errorf("it waited %v, want 2s", took)
		}
		silent := newFake("silent")
		change.Follow(silent, &sink{})
		change.Wait(time.Minute)
		if took := time.Since(begin); took != 62*time.Second {
			t.Errorf("with a source that does not speak it waited until %v, want 1m2s", took)
		}
		stop()
		f.Close()
	})
}
