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

	"graylane/internal/mark"
	"graylane/internal/metrics"
	"graylane/internal/upstream"
	"graylane/pkg/policy"
)

// Inbound is the [upstream.Handler] of requests to the app. All fields are required
// but Service, Edge and Now.
type Inbound struct {
	Store *policy.Store
	// App is where requests go. The destination is that of a redirected call, the
	// zero value for a call to the sidecar itself.
	App     func(dst netip.AddrPort) *upstream.Origin
	Marks   *mark.Marker
	Metrics *metrics.Metrics

	Service string           // which service the pod is
	Edge    bool             // believe no caller's tag, whatever the policy says of the service
	Now     func() time.Time // nil: time.Now

	calls sync.Pool // of *call
}

// call is one request on its way in.
type call struct {
	mark.Request

	service *policy.Service // whose guard acts
}

// Serve hands one request to the app and counts it.
func (i *Inbound) Serve(x upstream.Exchange) {
	c, ok := i.calls.Get().(*call)
	if !ok {
		c = new(call)
	}
	defer i.calls.Put(c)
	c.Begin(x, metrics.Inbound, i.Store.Load(), i.now())
	c.Record.Service, c.Record.Version = i.Service, i.Marks.Tag

	switch {
	case c.Policy == nil:
		c.Refuse(503, metrics.NoPolicy, "no policy is in force yet: see /ready on the health port")
	case isProbe(c.Head):
		i.probe(c)
		return // not counted: it is no traffic
	default:
		i.hand(c)
	}

	c.End(i.now())
	i.Metrics.Record(&c.Record)
}

func (i *Inbound) hand(c *call) {
	i.Marks.Find(&c.Request, i.caller(c))
	i.Marks.Remember(&c.Request)
	i.Marks.Write(&c.Request)
	if i.leaks(c) {
		i.guard(c)
		return
	}
	i.send(c)
}

// caller says what is believed of who sent the request. Its address decides, never
// a header.
func (i *Inbound) caller(c *call) mark.Caller {
	if i.Edge || !c.Policy.Trusts(c.X.Caller().Addr()) {
		return mark.Stranger
	}
	if service := c.Policy.ServiceNamed(i.Service); service != nil && service.Edge {
		return mark.Stranger
	}
	return mark.Peer
}

func (i *Inbound) now() time.Time {
	if i.Now != nil {
		return i.Now()
	}
	return time.Now()
}
