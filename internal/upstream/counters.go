package upstream

import (
	"sync/atomic"

	"graylane/internal/metrics"
)

// counters is what is counted of a version while it is in the policy.
type counters struct {
	retries, denied, overloaded, ejections, passed, failed atomic.Uint64
}

// States lists the states that an endpoint can have.
func States() []string {
	return []string{StateOK, StateWarming, StateKept, StateTrial, StateDoubt, StateOut, StateIdle}
}

// Versions returns what is known of every version in use, for metrics.
func (t *Table) Versions() []metrics.Version {
	var list []metrics.Version
	for _, r := range t.all() {
		endpoints := make(map[string]int)
		for _, s := range r.status() {
			endpoints[s.State]++
		}
		c := &r.counters
		list = append(list, metrics.Version{
			Service: r.service, Tag: r.tag, Endpoints: endpoints, Stale: r.stale() != nil,
			Retries: c.retries.Load(), Denied: c.denied.Load(), Overloaded: c.overloaded.Load(),
			Ejections: c.ejections.Load(), Passed: c.passed.Load(), Failed: c.failed.Load(),
		})
	}
	return list
}
