package outbound

import (
	"context"
	"math/rand/v2"
	"net"
	"net/netip"
	"strconv"

	"graylane/internal/metrics"
	"graylane/internal/route"
	"graylane/internal/upstream"
	"graylane/pkg/policy"
)

// Connect makes the connection for a redirected call of the app that is no HTTP,
// and notes in c where it went and why.
//
// TLS that asks for a host of a service goes to the version with the pod's own
// tag, which is all that is known of it; the rest goes to where it was going.
func (o *Outbound) Connect(ctx context.Context, dst netip.AddrPort, c *metrics.Connection) (net.Conn, error) {
	service := o.claimant(c.ServerName, dst)
	if service == nil || len(service.Versions) == 0 {
		c.Reason, c.Endpoint = policy.PassThrough.String(), dst.String()
		return o.Dial(ctx, c.Endpoint)
	}
	c.Service, c.Tag = service.Name, policy.Base
	if o.Marks.Tag != "" && o.Store.Load().Enabled {
		c.Tag = o.Marks.Tag
	}
	var err error
	d := service.Decide(c.Tag)
	for d.Version != nil {
		c.Reason = d.Reason.String()
		var conn net.Conn
		if conn, err = o.reach(ctx, d.Version, dst.Port(), c); err == nil {
			return conn, nil
		}
		d = service.Fall(d.Version.Tag)
	}
	if err == nil {
		err = route.ErrNone
	}
	c.Reason = d.Reason.String()
	return nil, err
}

// claimant gives the service that claims the name at the destination's port.
func (o *Outbound) claimant(name string, dst netip.AddrPort) *policy.Service {
	p := o.Store.Load()
	if p == nil || name == "" {
		return nil
	}
	return p.ServiceFor([]byte(net.JoinHostPort(name, strconv.Itoa(int(dst.Port())))))
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
		conn, err = o.Dial(ctx, c.Endpoint)
		pick.End(upstream.Result{Now: o.now(), Err: err, Dialed: true})
		if err == nil {
			return conn, nil
		}
	}
	return nil, err
}
