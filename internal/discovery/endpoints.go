package discovery

import (
	"slices"

	"graylane/internal/upstream"
)

// Endpoints is a [Sink] that tells [Owners] what a source finds of a service.
type Endpoints struct {
	owners *Owners

	// Both by the lock of the owners.
	names []name
	inUse bool // by a place: else there is nothing to tell
}

// Endpoints returns a sink without endpoints, for the Found of a [Place].
func (o *Owners) Endpoints() *Endpoints { return &Endpoints{owners: o} }

// Set is part of [Sink]. Addresses count at once, names when they are resolved.
func (e *Endpoints) Set(targets []upstream.Target) {
	addresses := make([]string, len(targets))
	for i, t := range targets {
		addresses[i] = t.Address
	}
	names := readNames(addresses)

	o := e.owners
	o.mu.Lock()
	e.names = names
	if e.inUse {
		o.publish()
	}
	o.mu.Unlock()
	if slices.ContainsFunc(names, func(n name) bool { _, ok := n.addr(); return !ok }) {
		o.wake()
	}
}

// Partial is part of [Sink].
func (e *Endpoints) Partial(targets []upstream.Target, _ error) { e.Set(targets) }

// Stale is part of [Sink]: what was found last is in use, and belongs to whom it did.
func (e *Endpoints) Stale(error) {}

// use notes which endpoints count; o.mu is held.
func (o *Owners) use(inUse bool) {
	for _, p := range o.places {
		for _, e := range p.found {
			e.inUse = inUse
		}
	}
}
