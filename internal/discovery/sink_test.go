package discovery

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"graylane/internal/upstream"
	"graylane/test/harness"
)

// sink keeps what it was told.
type sink struct {
	mu   sync.Mutex
	sets [][]upstream.Target
	errs []error
}

func (s *sink) Set(targets []upstream.Target) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sets = append(s.sets, targets)
}

func (s *sink) Partial(targets []upstream.Target, err error) {
	s.Set(targets)
	s.Stale(err)
}

func (s *sink) Stale(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.errs = append(s.errs, err)
}

func (s *sink) counts() (sets, errs int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sets), len(s.errs)
}

// last returns the addresses of the last set.
func (s *sink) last() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.sets) == 0 {
		return nil
	}
	return addressesOf(s.sets[len(s.sets)-1])
}

// lastError returns the text of the last failure.
func (s *sink) lastError() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.errs) == 0 {
		return ""
	}
	return s.errs[len(s.errs)-1].Error()
}

func addressesOf(targets []upstream.Target) []string {
	list := make([]string, len(targets))
	for i, t := range targets {
		list[i] = t.Address
	}
	return list
}

func targetsOf(addresses ...string) []upstream.Target {
	targets := make([]upstream.Target, len(addresses))
	for i, address := range addresses {
		targets[i] = upstream.Target{Address: address, Weight: 1}
	}
	return targets
}

// start runs a source until the test ends.
func start(t *testing.T, s Source, to Sink) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Run(ctx, to, nil)
	}()
	t.Cleanup(func() { stop(); <-done })
}

// inTime wants one of some tries to take no longer than that.
func inTime(t *testing.T, most time.Duration, try func(n int)) {
	t.Helper()
	n := 0
	harness.Once(t, func() error {
		begin := time.Now()
		try(n)
		n++
		if took := time.Since(begin); took > most {
			return fmt.Errorf("it took %v, want %v at most", took, most)
		}
		return nil
	})
}
