package outbound

import (
	"net/netip"
	"strings"
	"unsafe"

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
	named, dst := c.Policy.ServiceFor(c.Host), c.X.Destination()
	if named == nil && !dst.IsValid() {
		dst = addressOf(c.Host)
	}
	return o.rightful(c.Policy, named, dst)
}

// addressOf reads a host that is an address, as apps name it that look for endpoints
// by themselves; zero for any other. Without a port it has that of HTTP.
func addressOf(host []byte) netip.AddrPort {
	if len(host) == 0 || host[0] != '[' && (host[0] < '0' || host[0] > '9') {
		return netip.AddrPort{}
	}
	text := unsafe.String(unsafe.SliceData(host), len(host)) // read, and not kept: a copy would be one a request
	if addr, err := netip.ParseAddrPort(text); err == nil {
		return netip.AddrPortFrom(addr.Addr().Unmap(), addr.Port())
	}
	addr, err := netip.ParseAddr(strings.Trim(text, "[]"))
	if err != nil {
		return netip.AddrPort{}
	}
	return netip.AddrPortFrom(addr.Unmap(), 80)
}

// rightful gives the service of a call to an address that names one, or none. Where
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
