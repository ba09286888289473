package inbound

import (
	"graylane/internal/metrics"
	"graylane/pkg/policy"
	"graylane/pkg/propagate"
)

// readMark finds whose the request is, and gives it trace ids where it has none.
func (i *Inbound) readMark(c *call) {
	i.Carrier.IDs(c.head, &c.ids)
	tag, source, known := i.knownTag(c)
	// Before the rules, so that a share by trace id has a key; after the tag was
	// read, since what stands in the tracestate of a bad traceparent goes with it.
	i.Carrier.Make(c.head, &c.ids)
	if !known {
		tag, source = i.settle(c)
	}
	c.mark = propagate.Mark{Tag: tag, Source: source, Trace: c.ids.Trace()}
}

// knownTag believes what a trusted caller says, and what is remembered of the
// trace that it continues.
func (i *Inbound) knownTag(c *call) (tag string, source propagate.Source, ok bool) {
	if !c.policy.Enabled {
		return policy.Base, propagate.SourceOff, true
	}
	c.trusted = i.believes(c)
	if !c.trusted {
		return "", 0, false
	}
	if tag, source, ok := i.Carrier.Read(c.head, &c.wire, c.policy.Intern); ok {
		return tag, source, true
	}
	tag, ok = i.Ledger.Get(c.start, &c.ids)
	return tag, propagate.SourceLedger, ok
}

// settle starts a chain, since nothing says whose the request is: this is the first
// sidecar. Calls of one trace that come at the same moment go by one decision; but a
// stranger continues no trace of ours.
func (i *Inbound) settle(c *call) (string, propagate.Source) {
	tag, source := i.decide(c)
	if source == propagate.SourceUndecided || !c.trusted {
		return tag, source
	}
	if settled := i.Ledger.Settle(c.start, &c.ids, tag); settled != tag {
		return settled, propagate.SourceLedger
	}
	return tag, source
}

// decide asks the rules.
func (i *Inbound) decide(c *call) (string, propagate.Source) {
	i.ask(c)
	if i.LogInputs {
		c.record.Inputs = c.policy.Inputs(&c.rules)
	}
	tag, rule := c.policy.Tag(&c.rules)
	switch {
	case rule != nil:
		return tag, propagate.SourceRule
	case c.policy.FirstMatch:
		return tag, propagate.SourceUndecided
	}
	return tag, propagate.SourceBase
}

// ask puts together what the policy may ask of the request.
func (i *Inbound) ask(c *call) {
	c.rules = policy.Request{
		Method: c.head.Method(), Host: c.head.Authority(), Path: c.head.Path(), Query: c.head.Query(),
		Peer: c.x.Caller().Addr(), TraceID: c.ids.Trace(), Headers: c.head, Now: c.start, Rand: i.Rand,
	}
}

// believes reports whether the caller may hand over a tag. Its address decides,
// never a header.
func (i *Inbound) believes(c *call) bool {
	if i.Edge || !c.policy.Trusts(c.x.Caller().Addr()) {
		return false
	}
	service := c.policy.ServiceNamed(i.Service)
	return service == nil || !service.Edge
}

// remember ties the calls that the app makes under these trace ids to the tag.
func (i *Inbound) remember(c *call) {
	if c.policy.Enabled && c.mark.Decided() {
		i.Ledger.Put(c.start, &c.ids, c.mark.Tag)
	}
}

// writeMark tells the app, and notes for the count what it was told.
func (i *Inbound) writeMark(c *call) {
	if c.mark.Decided() {
		i.Carrier.Write(c.head, &c.wire, c.mark.Tag)
	} else {
		i.Carrier.Strip(c.head, &c.wire)
	}
	c.record.Tag, c.record.Unnamed = c.mark.Tag, !c.policy.Names(c.mark.Tag)
	c.record.Source, c.record.Trace = c.mark.Source.String(), c.mark.Trace
}

// wireOf says how tags look on requests under p.
func wireOf(p *policy.Policy) propagate.Wire {
	return propagate.Wire{Header: p.Header, Accept: p.AcceptHeaders, Values: p.HeaderValues, Words: p.HeaderWords}
}

// label is the tag that the request counts under.
func (c *call) label() string {
	if c.record.Unnamed {
		return metrics.Other
	}
	return c.mark.Tag
}
