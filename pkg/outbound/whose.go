package outbound

import "graylane/pkg/policy"

// goingTo gives where the request was going. A redirected call's destination is
// a fact; its Host is what the app wrote, and may be anything.
func (c *call) goingTo() []byte {
	if dst := c.X.Destination(); dst.IsValid() {
		return dst.AppendTo(c.destination[:0])
	}
	return c.Host
}

// whose gives the service that the request is for, nil if no service claims it.
// Where host and destination belong to different services, the destination wins:
// that is where the app would have gone without us.
func (o *Outbound) whose(c *call) *policy.Service {
	named := c.Policy.ServiceFor(c.Host)
	if !c.X.Destination().IsValid() || o.Owner == nil {
		return named
	}
	there := c.Policy.ServiceNamed(o.Owner(c.X.Destination()))
	switch {
	case there == nil:
		return named
	case named != nil && named != there:
		o.Metrics.HostMismatch()
	}
	return there
}
