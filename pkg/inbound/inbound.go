// Package inbound marks requests from other pods and hands them to the app
// beside us.
//
// A request passes these steps in reading order: read its mark, or decide it if
// this is the first sidecar of its chain; remember trace and tag, for the calls
// that it causes; write the mark; guard (is it meant for a pod of our tag?); send it
// to the app; count.
package inbound

import (
	"net/netip"
	"sync"
	"time"

	"graylane/internal/metrics"
	"graylane/internal/upstream"
	"graylane/pkg/policy"
	"graylane/pkg/propagate"
)

// Inbound is the [upstream.Handler] of requests to the app. All fields are required
// but Service, Tag, Edge, LogInputs, Now and Rand.
type Inbound struct {
	Store *policy.Store
	// App is where requests go. The destination is that of a redirected call, the
	// zero value for a call to the sidecar itself.
	App     func(dst netip.AddrPort) *upstream.Origin
	Carrier *propagate.Carrier
	Ledger  *propagate.Ledger
	Metrics *metrics.Metrics

	Service   string           // which service the pod is
	Tag       string           // which version of it
	Edge      bool             // believe no caller's tag, whatever the policy says of the service
	LogInputs bool             // record what the rules read
	Now       func() time.Time // nil: time.Now
	Rand      func() uint64    // for shares without a key; nil: math/rand/v2

	calls sync.Pool // of *call
}

// hopsHeader is how outbound sidecars count themselves; it means nothing to apps.
const hopsHeader = "X-Graylane-Hops"

// call is one request on its way in.
type call struct {
	x      upstream.Exchange
	head   upstream.Head
	policy *policy.Policy
	wire   propagate.Wire
	ids    propagate.IDs
	mark   propagate.Mark
	rules  policy.Request
	record metrics.Record
	start  time.Time

	trusted bool            // the caller may hand over a tag
	service *policy.Service // whose guard acts
}

// Serve hands one request to the app and counts it.
func (i *Inbound) Serve(x upstream.Exchange) {
	c, ok := i.calls.Get().(*call)
	if !ok {
		c = new(call)
	}
	defer i.calls.Put(c)
	c.x, c.head, c.policy, c.start = x, x.Head(), i.Store.Load(), i.now()
	c.mark = propagate.Mark{}
	c.record = metrics.Record{
		Direction: metrics.Inbound, Service: i.Service, Version: i.Tag, Peer: x.Caller(),
		Method: c.head.Method(), Host: c.head.Authority(), Path: c.head.Path(),
	}

	switch {
	case c.policy == nil:
		c.record.Reason, c.record.Error = policy.Unavailable.String(), metrics.NoPolicy
		x.Reply(503, metrics.NoPolicy, "no policy is in force yet: see /ready on the health port")
	case isProbe(c.head):
		i.probe(c)
		return // not counted: it is no traffic
	default:
		i.hand(c)
	}

	c.record.Status, c.record.Took = x.Status(), i.now().Sub(c.start)
	i.Metrics.Record(&c.record)
}

func (i *Inbound) hand(c *call) {
	c.wire = wireOf(c.policy)
	i.readMark(c)
	i.remember(c)
	i.writeMark(c)
	if i.leaks(c) {
		i.guard(c)
		return
	}
	i.send(c)
}

func (i *Inbound) now() time.Time {
	if i.Now != nil {
		return i.Now()
	}
	return time.Now()
}
