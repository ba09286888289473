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

	"graylane/internal/mark"
	"graylane/internal/metrics"
	"graylane/internal/upstream"
	"graylane/pkg/policy"
)

// Outbound is the [upstream.Handler] of the app's calls. All fields are required
// but Owner and Now; Dial is for Connect alone.
type Outbound struct {
	Store   *policy.Store
	Table   *upstream.Table
	Marks   *mark.Marker
	Metrics *metrics.Metrics

	// Owner gives the service that a redirected call's destination belongs to, ""
	// if none is known; nil: none ever is.
	Owner func(netip.AddrPort) string

	Dial func(ctx context.Context, addr string) (net.Conn, error)

	Now func() time.Time // nil: time.Now

	calls sync.Pool // of *call
}

// call is one request on its way out.
type call struct {
	mark.Request

	service *policy.Service
	going   []byte // where it was going: host:port, or a host without a port; nil: nobody knows
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
	case c.Policy == nil:
		c.Refuse(503, metrics.NoPolicy, "no policy is in force yet: see /ready on the health port")
	case len(c.going) == 0:
		c.Refuse(400, metrics.NoHost, "the request names no host, so there is nowhere to send it")
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
	c.Begin(x, d, o.Store.Load(), o.now())
	c.service, c.going = nil, c.goingTo()
	return c
}

func (o *Outbound) end(c *call) {
	if !c.X.Opened() { // what a tunnel holds is counted by itself
		c.End(o.now())
		o.Metrics.Record(&c.Record)
	}
	o.calls.Put(c)
}

func (o *Outbound) route(c *call) {
	c.service = o.whose(c)
	if c.service == nil {
		// What the app may have forwarded of ours means nothing to strangers, and
		// would tell them who tests what.
		o.Marks.Strip(&c.Request)
		c.Head.Del(mark.HopsHeader)
		o.pass(c)
		return
	}
	c.Record.Service = c.service.Name
	if c.loops() || c.opens() {
		return
	}
	o.Marks.Find(&c.Request, mark.App)
	o.Marks.Write(&c.Request)
	if len(c.service.Versions) == 0 {
		o.pass(c)
		return
	}
	o.send(c, c.service.Decide(c.Mark.Tag))
}

func (o *Outbound) now() time.Time {
	if o.Now != nil {
		return o.Now()
	}
	return time.Now()
}
