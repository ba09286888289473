package outbound

import (
	"graylane/internal/mark"
	"graylane/internal/metrics"
	"graylane/internal/upstream"
)

// Gateway is the [upstream.Handler] of callers from outside: the `routes` of the
// policy say by the path which service a request is for. It is the first sidecar of
// every chain, so that it believes no tag and no trace: the rules alone decide, and
// they see the request as it was sent. The pod's own tag, and what is remembered of
// the calls of its app, are not for its callers.
type Gateway struct{ *Outbound }

// Serve sends one request from outside to its service and counts it.
func (g Gateway) Serve(x upstream.Exchange) {
	c := g.begin(x, metrics.Gateway)
	if c.Policy == nil {
		c.Refuse(503, metrics.NoPolicy, "no policy is in force yet: see /ready on the health port")
	} else {
		g.enter(c)
	}
	g.end(c)
}

func (g Gateway) enter(c *call) {
	route := c.Policy.RouteFor(c.Head.Path()) // none for CONNECT, which has no path
	if route == nil {
		c.Refuse(404, metrics.NoRoute, "no route of the policy leads there")
		return
	}
	c.service, c.Record.Service = route.Service, route.Service.Name
	if route.Cors != nil && g.answered(c, route.Cors) {
		return
	}
	path, ok := route.Stripped(c.path[:0], c.Head.Path())
	if !ok {
		c.Refuse(400, metrics.BadPath, "dot segments or slashes hide in the part of the path that names the service")
		return
	}
	c.path = path
	if c.loops() { // the count of a stranger is taken too: it can end his own request alone
		return
	}
	g.Marks.Find(&c.Request, mark.Stranger)
	g.Marks.Write(&c.Request)
	if route.Strip > 0 {
		c.Head.SetPath(path) // after the rules, which see the path as it was sent
	}
	g.send(c, c.service.Decide(c.Mark.Tag))
}
