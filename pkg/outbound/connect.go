package outbound

import (
	"context"
	"math/rand/v2"
	"net"
	"net/netip"
	"strconv"
	"time"

	"graylane/internal/metrics"
	"graylane/internal/route"
	"graylane/internal/upstream"
	"graylane/pkg/policy"
)

// Connect makes the connection for a redirected call of the app that is no HTTP,
// and notes in c where it went and why.
//
// TLS that asks for a host of a service goes to the version with the pod's own
// tag, which is all that is known of it; the rest goes to where it was going, also
// where that is an endpoint of a service: who speaks to members of a cluster means
// one of them. Each endpoint has the time that its service gives it, all together
// have that of ctx.
func (o *Outbound) Connect(ctx context.Context, dst netip.AddrPort, c *metrics.Connection) (net.Conn, error) {
	p := o.Store.Load()
	service := o.claimant(p, c.ServerName, dst)
	if service == nil || len(service.Versions) == 0 {
		c.Reason, c.Endpoint = policy.PassThrough.String(), dst.String()
		return o.Dial(ctx, c.Endpoint)
	}
	c.Service, c.Tag = service.Name, policy.Base
	if o.Marks.Tag != "" && p.Enabled {
		c.Tag = o.Marks.Tag
	}
	err := route.ErrNone
	d := service.Decide(c.Tag)
	for d.Version != nil {
		c.Reason = d.Reason.String()
		var conn net.Conn
		if conn, err = o.reach(ctx, d.Version, dst.Port(), c); err == nil || over(ctx) {
			return conn, err
		}
		d = service.Fall(d.Version.Tag)
	}
	c.Reason = d.Reason.String()
	return nil, err
}

// claimant gives the service that claims the name at the destination's port; but a
// destination of another one wins, as for requests.
func (o *Outbound) claimant(p *policy.Policy, name string, dst netip.AddrPort) *policy.Service {
	if p == nil || name == "" {
		return nil
	}
	named := p.ServiceFor([]byte(net.JoinHostPort(name, strconv.Itoa(int(dst.Port())))))
	if named == nil {
		return nil
	}
	return o.rightful(p, named, dst)
}

// reach connects to the first endpoint of the version that takes the connection.
func (o *Outbound) reach(ctx context.Context, v *policy.Version, port uint16, c *metrics.Connection) (net.Conn, error) {
	group, err := route.GroupOf(v)
	if err != nil {
		return nil, err
	}
	err = route.ErrNone
	pick := group.Pick(rand.Uint64())
	for ep := pick.Next(o.now()); ep != nil; ep = pick.Next(o.now()) {
		c.Endpoint = ep.Address
		if _, _, split := net.SplitHostPort(ep.Address); split != nil {
			c.Endpoint = net.JoinHostPort(ep.Address, strconv.Itoa(int(port)))
		}
		var conn net.Conn
		conn, err = o.dial(ctx, c.Endpoint, v.Service.Timeouts.Connect)
		result := upstream.Result{Now: o.now(), Err: err, Dialed: true}
		if err != nil && over(ctx) {
			result.Err = context.Canceled // it had less time than it may take
		}
		pick.End(result)
		if err == nil || over(ctx) {
			return conn, err
		}
	}
	return nil, err
}

func (o *Outbound) dial(ctx context.Context, addr string, most time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	return o.Dial(ctx, addr)
}

// over reports whether the time of ctx is up, whether or not it says so itself.
func over(ctx context.Context) bool {
	deadline, ok := ctx.Deadline()
	return ctx.Err() != nil || ok && !time.Now().Before(deadline)
}
