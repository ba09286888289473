package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"graylane/internal/admin"
	"graylane/internal/discovery"
	"graylane/internal/listen"
	"graylane/internal/metrics"
	"graylane/internal/upstream"
	"graylane/pkg/policy"
	"graylane/pkg/propagate"
)

// What must have happened before the sidecar is ready.
const (
	taskListeners = "listeners"
	taskPolicy    = "policy"
)

// sidecar is everything that one pod's proxy is made of.
type sidecar struct {
	settings *settings
	log      *slog.Logger
	files    *files

	store   *policy.Store
	table   *upstream.Table
	finder  discovery.Finder
	names   *discovery.Resolver
	owners  *discovery.Owners
	metrics *metrics.Metrics
	ready   *admin.Readiness
	reloads *admin.Reloads

	looked chan struct{} // closed after the first look at the policy file

	inbound, outbound, gateway *side
	admin, health              *listen.Set
	adminServer, healthServer  *http.Server

	drainOnce sync.Once
	drainedAt time.Time // when the grace began
}

// newSidecar makes the sidecar and binds all its listeners, or none.
func newSidecar(ctx context.Context, s *settings, log *slog.Logger) (*sidecar, error) {
	sc := &sidecar{
		settings: s, log: log,
		store:    new(policy.Store),
		metrics:  metrics.New(buildVersion()),
		ready:    admin.NewReadiness(taskListeners, taskPolicy),
		reloads:  new(admin.Reloads),
		looked:   make(chan struct{}),
		names:    &discovery.Resolver{Servers: s.DNS},
		inbound:  &side{direction: metrics.Inbound},
		outbound: &side{direction: metrics.Outbound},
		gateway:  &side{direction: metrics.Gateway},
	}
	sc.finder.Log = log
	var err error
	if sc.files, err = newFiles(log); err != nil {
		return nil, err
	}
	if s.AccessLog || s.LogInputs {
		sc.metrics.AccessLog(log)
	}
	carrier, err := propagate.New(propagate.Config{
		TraceHeaders: s.TraceHeaders, Make: s.TraceMake, Unsampled: !s.TraceSampled,
	})
	if err != nil {
		return nil, err
	}
	if err := sc.bind(ctx); err != nil {
		return nil, err
	}
	sc.wire(carrier, propagate.NewLedger(s.LedgerSize, s.LedgerTTL))
	return sc, nil
}

// bind takes every address, or none and says which could not be had.
func (sc *sidecar) bind(ctx context.Context) error {
	var faults []error
	for _, b := range []struct {
		set   **listen.Set
		addrs []string
		flag  string
	}{
		{&sc.inbound.set, sc.settings.Inbound, "inbound"},
		{&sc.outbound.set, sc.settings.Outbound, "outbound"},
		{&sc.gateway.set, sc.settings.Gateway, "gateway"},
		{&sc.admin, sc.settings.Admin, "admin"},
		{&sc.health, sc.settings.Health, "health"},
	} {
		set, err := listen.Bind(ctx, b.addrs)
		if err != nil {
			faults = append(faults, fmt.Errorf("--%s: %w", b.flag, err))
			continue
		}
		set.Log = sc.log
		*b.set = set
	}
	if len(faults) == 0 {
		return nil
	}
	for _, set := range []*listen.Set{sc.inbound.set, sc.outbound.set, sc.gateway.set, sc.admin, sc.health} {
		if set != nil {
			set.Close()
		}
	}
	return errors.Join(faults...)
}

// refused counts a request that was no HTTP, or broke a limit, before anyone
// could ask whose it is.
func (sc *sidecar) refused(d metrics.Direction) func(status int, reason string) {
	return func(status int, reason string) {
		sc.metrics.Record(&metrics.Record{Direction: d, Reason: policy.Unavailable.String(), Error: reason, Status: status})
		sc.log.Debug("request refused", "direction", d.String(), "status", status, "reason", reason)
	}
}

// run serves until ctx ends, and then stops in order. The error is what made it
// end before.
func (sc *sidecar) run(ctx context.Context) error {
	// Everything serves on while ctx, which says only that it is time to stop,
	// has ended.
	serving, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	group, serving := errgroup.WithContext(serving)

	for _, l := range sc.admin.Listeners() {
		group.Go(func() error { return serveHTTP(sc.adminServer, l) })
	}
	for _, l := range sc.health.Listeners() {
		group.Go(func() error { return serveHTTP(sc.healthServer, l) })
	}
	group.Go(func() error { return sc.table.Run(serving) })
	group.Go(func() error { return sc.watchUntil(serving) })
	group.Go(func() error {
		sc.owners.Run(serving)
		return nil
	})
	for _, side := range sc.sides() {
		group.Go(func() error { return sc.accept(serving, side) })
	}
	sc.ready.Done(taskListeners)
	group.Go(func() error {
		sc.logStart(serving)
		return nil
	})
	group.Go(func() error {
		select {
		case <-ctx.Done():
			sc.stop(serving)
		case <-serving.Done(): // one of the others failed
		}
		sc.closeOperators(serving)
		cancel()
		return nil
	})
	return group.Wait()
}

// accept serves one direction, once the policy file has been looked at: a caller
// who comes in the first moments waits for a policy instead of hearing that there
// is none.
func (sc *sidecar) accept(ctx context.Context, s *side) error {
	sc.awaitLook(ctx)
	return s.set.Run(ctx, s.serve)
}

// awaitLook returns when the policy file has been looked at, well or badly.
func (sc *sidecar) awaitLook(ctx context.Context) {
	select {
	case <-sc.looked:
	case <-time.After(patience):
	case <-ctx.Done():
	}
}

// patience is how long callers wait for the first look at the policy file, which
// may be on a volume that is slow to answer, and a policy for its endpoints to be
// found.
const patience = 2 * time.Second

// sides are the directions of traffic.
func (sc *sidecar) sides() []*side { return []*side{sc.inbound, sc.outbound, sc.gateway} }

func serveHTTP(s *http.Server, l net.Listener) error {
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving %s: %w", l.Addr(), err)
	}
	return nil
}

// watchUntil watches until ctx ends. A volume that does not answer can hold a
// reader for as long as it likes, but not the end of the sidecar: the watch is left
// to itself after a moment.
func (sc *sidecar) watchUntil(ctx context.Context) error {
	ended := make(chan error, 1)
	go func() { ended <- sc.watch(ctx) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-ended:
		return err
	case <-time.After(lastWords):
		sc.log.Warn("the reading of the policy or of endpoints hangs and is left to itself", "path", sc.settings.Policy)
		return nil
	}
}

// watch keeps the policy file in force.
func (sc *sidecar) watch(ctx context.Context) error {
	looked := sync.OnceFunc(func() { close(sc.looked) })
	w := policy.Watcher{
		Path: sc.settings.Policy, State: sc.settings.State, Log: sc.log,
		Apply: func(p *policy.Policy) {
			sc.apply(ctx, p)
			looked()
		},
		Bad: func(err error) {
			sc.metrics.BadPolicy()
			sc.reloads.Bad(time.Now(), err)
			looked()
		},
	}
	defer sc.finder.Close()
	return w.Run(ctx)
}
