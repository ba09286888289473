package outbound

import (
	"graylane/internal/metrics"
	"graylane/internal/upstream"
	"graylane/pkg/policy"
	"graylane/pkg/propagate"
)

// Gateway is the [upstream.Handler] of callers from outside: the `routes` of the
// policy say by the path which service a request is for. It is the first sidecar
// of every chain, so that it believes no tag, and nothing that could lead to one.
// The pod's own tag, and what is remembered of the calls of its app, are not for
// its callers.
type Gateway struct{ *Outbound }

// Serve sends one request from outside to its service and counts it.
func (g Gateway) Serve(x upstream.Exchange) {
	c := g.begin(x, metrics.Gateway)
	if c.policy == nil {
		c.refuse(503, metrics.NoPolicy, "no policy is in force yet: see /ready on the health port")
	} else {
		g.enter(c)
	}
	g.end(c)
}

func (g Gateway) enter(c *call) {
	route := c.policy.RouteFor(c.head.Path())
	if route == nil || c.head.Connect() {
		c.refuse(404, metrics.NoRoute, "no route of the policy leads there")
		return
	}
	c.service = route.Service
	if route.Cors != nil && g.answered(c, route.Cors) {
		return
	}
	path, ok := route.Stripped(c.path[:0], c.head.Path())
	if !ok {
		c.refuse(400, metrics.BadPath, "dot segments or slashes hide in the part of the path that names the service")
		return
	}
	c.path = path
	c.wire = wireOf(c.policy)
	g.mark(c)
	g.writeMark(c)
	if route.Strip > 0 {
		c.head.SetPath(path) // after the rules, which see the path as it was sent
	}
	g.send(c, c.service.Decide(c.mark.Tag))
}

// mark decides whose the request is by the rules alone.
func (g Gateway) mark(c *call) {
	g.Carrier.IDs(c.head, &c.ids)
	// What came of ours is not believed, and must not stay where it is not
	// replaced: the members of baggage and tracestate that nobody reads.
	g.Carrier.Strip(c.head, &c.wire)
	g.Carrier.Make(c.head, &c.ids)
	tag, source := policy.Base, propagate.SourceOff
	if c.policy.Enabled {
		tag, source = g.decide(c)
	}
	c.mark = propagate.Mark{Tag: tag, Source: source, Trace: c.ids.Trace()}
}
