// Package outbound sends the app's requests, and the gateway's, to the version
// they belong to.
//
// A request passes five steps in reading order: whose is it (its mark), which
// version (the decision), tell the callee (write the mark), which endpoint
// (pick), send. What no service of the policy claims goes to where it was going,
// without anything of ours. A [Gateway] takes the same steps for requests from
// outside, whose path says the service.
//
// Where it was going is the original destination of a call that the kernel
// redirected, and else the host that the app named to us as its proxy.
package outbound

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"time"

	"graylane/internal/metrics"
	"graylane/internal/upstream"
	"graylane/pkg/policy"
	"graylane/pkg/propagate"
)

// Outbound is the [upstream.Handler] of the app's calls. All fields are required
// but Owner, Tag, LogInputs, Now and Rand; Dial is for Connect alone.
type Outbound struct {
	Store   *policy.Store
	Table   *upstream.Table
	Carrier *propagate.Carrier
	Ledger  *propagate.Ledger
	Metrics *metrics.Metrics

	// Owner gives the service that a redirected call's destination belongs to, ""
	// if none is known; nil: none ever is.
	Owner func(netip.AddrPort) string

	Dial func(ctx context.Context, addr string) (net.Conn, error)

	Tag       string           // the pod's own tag; empty is base
	LogInputs bool             // record what the rules read
	Now       func() time.Time // nil: time.Now
	Rand      func() uint64    // for shares without a key; nil: math/rand/v2

	calls sync.Pool // of *call
}

// call is one request on its way out.
type call struct {
	x       upstream.Exchange
	head    upstream.Head
	policy  *policy.Policy
	wire    propagate.Wire
	service *policy.Service
	going   []byte // where it was going: host:port, or a host without a port; nil: nobody knows
	ids     propagate.IDs
	mark    propagate.Mark
	rules   policy.Request
	record  metrics.Record
	start   time.Time
	path    []byte // of the gateway: what the service gets

	destination [maxAddrPort]byte // holds going
}

// maxAddrPort is the text of an IPv6 address with an interface as its zone, with
// brackets, colon and port, rounded up.
const maxAddrPort = 80

// Serve sends one request of the app on and counts it.
func (o *Outbound) Serve(x upstream.Exchange) {
	c := o.begin(x, metrics.Outbound)
	switch {
	case c.policy == nil:
		c.refuse(503, metrics.NoPolicy, "no policy is in force yet: see /ready on the health port")
	case len(c.going) == 0:
		c.refuse(400, metrics.NoHost, "the request names no host, so there is nowhere to send it")
	default:
		o.route(c)
	}
	o.end(c)
}

func (o *Outbound) begin(x upstream.Exchange, d metrics.Direction) *call {
	c, ok := o.calls.Get().(*call)
	if !ok {
		c = new(call)
	}
	c.x, c.head, c.policy, c.start = x, x.Head(), o.Store.Load(), o.now()
	c.service, c.mark, c.going = nil, propagate.Mark{}, c.goingTo()
	c.record = metrics.Record{
		Direction: d, Peer: x.Caller(),
		Method: c.head.Method(), Host: c.head.Authority(), Path: c.head.Path(),
	}
	return c
}

func (o *Outbound) end(c *call) {
	c.record.Status, c.record.Took = c.x.Status(), o.now().Sub(c.start)
	o.Metrics.Record(&c.record)
	o.calls.Put(c)
}

func (o *Outbound) route(c *call) {
	c.wire = wireOf(c.policy)
	c.service = o.whose(c)
	if c.service == nil {
		// What the app may have forwarded of ours means nothing to strangers, and
		// would tell them who tests what.
		o.Carrier.Strip(c.head, &c.wire)
		c.head.Del(HopsHeader)
		o.pass(c)
		return
	}
	if err := c.countHop(); err != nil {
		c.record.Service, c.record.Reason = c.service.Name, policy.Unavailable.String()
		c.fail(err)
		return
	}
	o.readMark(c)
	o.writeMark(c)
	if len(c.service.Versions) == 0 {
		o.pass(c)
		return
	}
	o.send(c, c.service.Decide(c.mark.Tag))
}

func (o *Outbound) now() time.Time {
	if o.Now != nil {
		return o.Now()
	}
	return time.Now()
}
