// Package mark finds whose a request is and writes that on it.
//
// Both directions of a sidecar, and the gateway, ask here, so that the order in
// which the sources of a tag are asked (the ladder) stands in one place:
// [Marker.Find]. [Request] is what they keep of a request while it is under way.
package mark

import (
	"math/rand/v2"

	"graylane/pkg/policy"
	"graylane/pkg/propagate"
)

// HopsHeader counts the sidecars that a request has left through. It goes to hosts
// that a service claims, and inbound takes it off before the app.
const HopsHeader = "X-Graylane-Hops"

// Marker finds and writes marks. All sides of a sidecar share one. The fields but
// Carrier and Ledger may be zero.
type Marker struct {
	Carrier *propagate.Carrier
	Ledger  *propagate.Ledger

	Tag       string        // of the pod, which its app's calls have for want of another; empty is base
	LogInputs bool          // record what the rules read
	Rand      func() uint64 // for shares without a key; nil: math/rand/v2
}

// Caller says what is believed of who sent a request.
type Caller uint8

// The callers.
const (
	Stranger Caller = iota // nothing: neither its tag nor that it continues a trace
	Peer                   // both
	App                    // both, and that it serves its pod's tag alone
)

// Find finds whose the request is, and gives it trace ids where it has none. The
// first sidecar of a chain decides, the others obey: the rules are asked only where
// nothing says what was decided.
func (m *Marker) Find(r *Request, from Caller) {
	m.Carrier.IDs(r.Head, &r.ids)
	if from == App {
		m.Carrier.Learn(&r.ids)
	}
	tag, source, known := m.known(r, from)
	// Before the rules, so that a share by trace id has a key; after the tag was
	// read, since what stands in the tracestate of a bad traceparent goes with it.
	m.Carrier.Make(r.Head, &r.ids)
	if !known {
		tag, source = m.settle(r, from)
	}
	r.Mark = propagate.Mark{Tag: tag, Source: source, Trace: r.ids.Trace()}
}

// known asks, in this order: what stands on the request, what is remembered of the
// trace that it continues, the pod's own tag.
func (m *Marker) known(r *Request, from Caller) (tag string, source propagate.Source, ok bool) {
	switch {
	case !r.Policy.Enabled:
		return policy.Base, propagate.SourceOff, true
	case from == Stranger:
		return "", 0, false
	}
	if tag, source, ok := m.Carrier.Read(r.Head, &r.wire, r.Policy.Intern); ok {
		return tag, source, true
	}
	if tag, ok := m.Ledger.Get(r.Start, &r.ids); ok {
		return tag, propagate.SourceLedger, true
	}
	return m.Tag, propagate.SourcePod, from == App && m.Tag != "" && m.Tag != policy.Base
}

// settle starts a chain. Calls of one trace that come at the same moment go by one
// decision; but a stranger continues no trace of ours.
func (m *Marker) settle(r *Request, from Caller) (string, propagate.Source) {
	tag, source := m.decide(r)
	if source == propagate.SourceUndecided || from == Stranger {
		return tag, source
	}
	if settled := m.Ledger.Settle(r.Start, &r.ids, tag); settled != tag {
		return settled, propagate.SourceLedger
	}
	return tag, source
}

// decide asks the rules.
func (m *Marker) decide(r *Request) (string, propagate.Source) {
	asked := m.Rules(r)
	if m.LogInputs {
		r.Record.Inputs = r.Policy.Inputs(asked)
	}
	tag, rule := r.Policy.Tag(asked)
	switch {
	case rule != nil:
		return tag, propagate.SourceRule
	case r.Policy.FirstMatch:
		return tag, propagate.SourceUndecided
	}
	return tag, propagate.SourceBase
}

// Rules gives what the policy may ask of the request as it is now. It is valid
// until Rules is called again.
func (m *Marker) Rules(r *Request) *policy.Request {
	r.rules = policy.Request{
		Method: r.Head.Method(), Host: r.Host, Path: r.Head.Path(), Query: r.Head.Query(),
		Peer: r.X.Caller().Addr(), TraceID: r.ids.Trace(), Headers: r.Head, Now: r.Start, Rand: m.Rand,
	}
	return &r.rules
}

// Key gives what the service is balanced by, 0 where that is by nothing of the
// request. A request that has none of it goes anywhere.
func (m *Marker) Key(r *Request, s *policy.Service) uint64 {
	if s.Balance.Type != "hash" {
		return 0
	}
	if key, ok := r.Policy.Key(s, m.Rules(r)); ok {
		return key
	}
	if m.Rand != nil {
		return m.Rand()
	}
	return rand.Uint64()
}

// Remember ties the calls that the app makes under the request's trace ids to its
// tag.
func (m *Marker) Remember(r *Request) {
	if r.Policy.Enabled && r.Mark.Decided() {
		m.Ledger.Put(r.Start, &r.ids, r.Mark.Tag)
	}
}

// Write tells who gets the request, and records, what was found.
func (m *Marker) Write(r *Request) {
	if r.Mark.Decided() {
		m.Carrier.Write(r.Head, &r.wire, r.Mark.Tag)
	} else {
		m.Strip(r)
	}
	r.Record.Tag, r.Record.Unnamed = r.Mark.Tag, !r.Policy.Names(r.Mark.Tag)
	r.Record.Source, r.Record.Trace = r.Mark.Source.String(), r.Mark.Trace
}

// Disown is for a request that belongs to no chain: it takes off what says a tag of
// ours. A trace that it names is base from now on, so that the name of a probe opens
// no way to the tag of a trace that somebody else's request has.
func (m *Marker) Disown(r *Request) {
	m.Strip(r)
	if r.Policy.Enabled {
		m.Carrier.IDs(r.Head, &r.ids)
		m.Ledger.Put(r.Start, &r.ids, policy.Base)
	}
}

// Strip takes off the request what says a tag of ours.
func (m *Marker) Strip(r *Request) { m.Carrier.Strip(r.Head, &r.wire) }

// Wire says how tags look on requests under p.
func Wire(p *policy.Policy) propagate.Wire {
	return propagate.Wire{Header: p.Header, Accept: p.AcceptHeaders, Values: p.HeaderValues, Words: p.HeaderWords}
}
