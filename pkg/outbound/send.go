package outbound

import (
	"graylane/internal/route"
	"graylane/internal/upstream"
	"graylane/pkg/policy"
)

// pass sends a request to where it was going.
func (o *Outbound) pass(c *call) {
	c.Record.Reason = policy.PassThrough.String()
	send := route.Relay
	if c.X.Destination().IsValid() {
		send = upstream.Exchange.Send // a redirected CONNECT is for the proxy that it was going to
	}
	c.Fail(send(c.X, o.Table.Stranger(c.going)))
}

// send sends a request to the version that was decided for.
func (o *Outbound) send(c *call, d policy.Decision) {
	route.Send(&c.Request, route.Way{Service: c.service, Key: o.Marks.Key(&c.Request, c.service), Caller: c.going, Now: o.Now}, d)
}

// opens looks into a tunnel to versions of a service, and reports whether that was
// all: which of them is asked for, a request in the tunnel knows better.
func (c *call) opens() bool {
	if len(c.service.Versions) == 0 || !c.Head.Connect() {
		return false
	}
	if err := c.X.Accept(); err != nil {
		c.Record.Reason = policy.Unavailable.String()
		c.Fail(err)
		return true
	}
	return c.X.Opened()
}
