package outbound

import (
	"net/netip"

	"graylane/pkg/policy"
)

// goingTo gives where the request was going. A redirected call's destination is
// a fact; its Host is what the app wrote, and may be anything.
func (c *call) goingTo() []byte {
	if dst := c.X.Destination(); dst.IsValid() {
		return dst.AppendTo(c.destination[:0])
	}
	return c.Host
}

// whose gives the service that the request is for, nil if no service claims it.
func (o *Outbound) whose(c *call) *policy.Service {
	return o.rightful(c.Policy, c.Policy.ServiceFor(c.Host), c.X.Destination())
}

// rightful gives the service of a redirected call that names one, or none. Where
// name and destination belong to different services, the destination wins: that is
// where the app would have gone without us.
func (o *Outbound) rightful(p *policy.Policy, named *policy.Service, dst netip.AddrPort) *policy.Service {
	if !dst.IsValid() || o.Owner == nil {
		return named
	}
	there := p.ServiceNamed(o.Owner(dst))
	switch {
	case there == nil:
		return named
	case named != nil && named != there:
		o.Metrics.HostMismatch()
	}
	return there
}
