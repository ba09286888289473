package inbound

import (
	"bytes"

	"graylane/internal/http1"
	"graylane/internal/metrics"
	"graylane/internal/upstream"
	"graylane/pkg/policy"
)

// guardHeader is on a request that a guard has sent on, so that it is sent on once.
const guardHeader = "X-Graylane-Guarded"

// leaks reports whether the request is not meant for a pod of our tag. The switch
// turns this off: then every request is base, also at gray pods.
func (i *Inbound) leaks(c *call) bool {
	service := c.policy.ServiceNamed(i.Service)
	if service == nil || !c.policy.Enabled {
		return false
	}
	i.ask(c)
	if !service.Leaks(i.Tag, c.mark.Tag, &c.rules, c.x.Destination().Port()) {
		return false
	}
	c.service = service
	return true
}

// guard does with a leak what the service says.
func (i *Inbound) guard(c *call) {
	i.Metrics.Leak(c.service.Name, c.label(), c.service.Guard.Action)
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
	c.record.Reason, c.record.Error = policy.Leaked.String(), metrics.Leaked
	c.x.Reply(421, metrics.Leaked, "this pod works for requests with another tag: the caller needs a sidecar, or the base address of the service")
}

// redirect sends a request to the version that it is meant for, as its caller's
// sidecar would have. A request that was sent on once and leaks again has met two
// sidecars whose policies differ: it is refused rather than sent to and fro.
func (i *Inbound) redirect(c *call) {
	if c.head.Get(guardHeader) != nil {
		i.reject(c)
		return
	}
	if ep, pick := i.meantFor(c); ep != nil {
		c.head.Set(guardHeader, guarded)
		c.record.Reason, c.record.Endpoint = policy.Leaked.String(), ep.Address
		err := c.x.Send(ep.Origin(c.head.Authority()))
		pick.End(upstream.Result{Now: i.now(), Status: c.x.Status(), Waited: c.x.Waited(), Err: err})
		c.fail(err)
		return
	}
	c.record.Reason, c.record.Error = policy.Unavailable.String(), metrics.Unavailable
	c.x.Reply(503, metrics.Unavailable, "no version of the service may serve this request now")
}

// meantFor returns an endpoint of the version that the policy decides for, nil for
// none.
func (i *Inbound) meantFor(c *call) (*upstream.Endpoint, upstream.Pick) {
	d := c.service.Decide(c.mark.Tag)
	if d.Version == nil {
		return nil, upstream.Pick{}
	}
	c.record.Version = d.Version.Tag
	group, ok := d.Version.Backend.(*upstream.Group)
	if !ok {
		return nil, upstream.Pick{}
	}
	pick := group.Pick(0)
	return pick.Next(i.now()), pick
}

var guarded = []byte("1")

// isProbe reports whether the kubelet asks for the health of the app beside us.
// Anyone can say so; what it saves a caller is to be decided and counted.
func isProbe(head upstream.Head) bool {
	return bytes.HasPrefix(head.Get("User-Agent"), []byte("kube-probe/"))
}

// probe hands a probe to the app, without a tag: it belongs to no chain.
func (i *Inbound) probe(c *call) {
	c.wire = wireOf(c.policy)
	i.Carrier.Strip(c.head, &c.wire)
	i.send(c)
}

// send hands a request to the app, without what means something to sidecars only.
func (i *Inbound) send(c *call) {
	c.head.DelAlike(hopsHeader)
	c.head.DelAlike(guardHeader)
	c.record.Reason = policy.Local.String()
	c.fail(c.x.Send(i.App(c.x.Destination())))
}

// fail answers what became of a request that was sent; nil: it was answered.
func (c *call) fail(err error) {
	if err == nil {
		return
	}
	_, c.record.Error = http1.Status(err)
	c.x.Fail(err)
}
