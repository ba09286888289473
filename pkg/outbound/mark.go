package outbound

import (
	"graylane/pkg/policy"
	"graylane/pkg/propagate"
)

// readMark finds whose the request is, and gives it trace ids where it has none.
func (o *Outbound) readMark(c *call) {
	o.Carrier.IDs(c.head, &c.ids)
	o.Carrier.Learn(&c.ids)
	tag, source, known := o.knownTag(c)
	// Before the rules, so that a share by trace id has a key; after the tag was
	// read, since what stands in the tracestate of a bad traceparent goes with it.
	o.Carrier.Make(c.head, &c.ids)
	if !known {
		tag, source = o.settle(c)
	}
	c.mark = propagate.Mark{Tag: tag, Source: source, Trace: c.ids.Trace()}
}

// knownTag asks, in this order: what the app forwarded, the inbound request that
// caused this one, the pod's own tag.
func (o *Outbound) knownTag(c *call) (tag string, source propagate.Source, ok bool) {
	if !c.policy.Enabled {
		return policy.Base, propagate.SourceOff, true
	}
	if tag, source, ok := o.Carrier.Read(c.head, &c.wire, c.policy.Intern); ok {
		return tag, source, true
	}
	if tag, ok := o.Ledger.Get(c.start, &c.ids); ok {
		return tag, propagate.SourceLedger, true
	}
	return o.Tag, propagate.SourcePod, o.Tag != "" && o.Tag != policy.Base
}

// settle starts a chain, since nothing says whose the request is. The app's further
// calls under the same trace id belong to it, also those of this very moment.
func (o *Outbound) settle(c *call) (string, propagate.Source) {
	tag, source := o.decide(c)
	if source == propagate.SourceUndecided {
		return tag, source
	}
	if settled := o.Ledger.Settle(c.start, &c.ids, tag); settled != tag {
		return settled, propagate.SourceLedger
	}
	return tag, source
}

// decide asks the rules.
func (o *Outbound) decide(c *call) (string, propagate.Source) {
	o.ask(c)
	if o.LogInputs {
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
func (o *Outbound) ask(c *call) {
	c.rules = policy.Request{
		Method: c.head.Method(), Host: c.head.Authority(), Path: c.head.Path(), Query: c.head.Query(),
		Peer: c.x.Caller().Addr(), TraceID: c.ids.Trace(), Headers: c.head, Now: c.start, Rand: o.Rand,
	}
}

// writeMark tells the callee, and notes for the count what it was told.
func (o *Outbound) writeMark(c *call) {
	if c.mark.Decided() {
		o.Carrier.Write(c.head, &c.wire, c.mark.Tag)
	} else {
		o.Carrier.Strip(c.head, &c.wire)
	}
	c.record.Service = c.service.Name
	c.record.Tag, c.record.Unnamed = c.mark.Tag, !c.policy.Names(c.mark.Tag)
	c.record.Source, c.record.Trace = c.mark.Source.String(), c.mark.Trace
}

// wireOf says how tags look on requests under p.
func wireOf(p *policy.Policy) propagate.Wire {
	return propagate.Wire{Header: p.Header, Accept: p.AcceptHeaders, Values: p.HeaderValues, Words: p.HeaderWords}
}
