package inbound

import (
	"bytes"

	"graylane/internal/mark"
	"graylane/internal/metrics"
	"graylane/internal/route"
	"graylane/internal/upstream"
	"graylane/pkg/policy"
)

// guardHeader is on a request that a guard has sent on, so that it is sent on once.
const guardHeader = "X-Graylane-Guarded"

// leaks reports whether the request is not meant for a pod of our tag. The switch
// turns this off: then every request is base, also at gray pods.
func (i *Inbound) leaks(c *call) bool {
	service := c.Policy.ServiceNamed(i.Service)
	if service == nil || !c.Policy.Enabled {
		return false
	}
	if !service.Leaks(i.Marks.Tag, c.Mark.Tag, i.Marks.Rules(&c.Request), c.X.Destination().Port()) {
		return false
	}
	c.service = service
	return true
}

// guard does with a leak what the service says.
func (i *Inbound) guard(c *call) {
	i.Metrics.Leak(c.service.Name, c.Record.Label(), c.service.Guard.Action)
	switch c.service.Guard.Action {
	case "reject":
		i.reject(c)
	case "redirect":
		i.redirect(c)
	default:
		i.send(c)
	}
}

func (i *Inbound) reject(c *call) {
	c.Refuse(421, metrics.Leaked, "this pod works for requests with another tag: the caller needs a sidecar, or the base address of the service")
	c.Record.Reason = policy.Leaked.String()
}

// redirect sends a request to the version that it is meant for, as its caller's
// sidecar would have. A request that was sent on once and leaks again has met two
// sidecars whose policies differ: it is refused rather than sent to and fro.
func (i *Inbound) redirect(c *call) {
	if c.Head.Get(guardHeader) != nil {
		i.reject(c)
		return
	}
	c.Head.Set(guardHeader, guarded)
	way := route.Way{Service: c.service, Key: i.Marks.Key(&c.Request, c.service), Caller: c.Head.Authority(), Now: i.Now}
	route.Send(&c.Request, way, c.service.Decide(c.Mark.Tag))
	c.Record.Reason = policy.Leaked.String()
}

var guarded = []byte("1")

// isProbe reports whether the kubelet asks for the health of the app beside us.
// Anyone can say so, which saves him to be decided, counted and guarded. So it is
// for what a kubelet does alone: a GET without a body, or the health check of gRPC.
func isProbe(head upstream.Head) bool {
	if !bytes.HasPrefix(head.Get("User-Agent"), []byte("kube-probe/")) {
		return false
	}
	if string(head.Method()) == "POST" {
		return string(head.Path()) == "/grpc.health.v1.Health/Check"
	}
	return string(head.Method()) == "GET" && head.Get("Content-Length") == nil && head.Get("Transfer-Encoding") == nil
}

// probe hands a probe to the app, without a tag: it belongs to no chain.
func (i *Inbound) probe(c *call) {
	i.Marks.Disown(&c.Request)
	i.send(c)
}

// send hands a request to the app, without what means something to sidecars only.
func (i *Inbound) send(c *call) {
	c.Head.DelAlike(mark.HopsHeader)
	c.Head.DelAlike(guardHeader)
	c.Record.Reason = policy.Local.String()
	c.Fail(c.X.Send(i.App(c.X.Destination())))
}
