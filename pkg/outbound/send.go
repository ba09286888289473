package outbound

import (
	"errors"
	"math/rand/v2"

	"graylane/internal/http1"
	"graylane/internal/metrics"
	"graylane/internal/upstream"
	"graylane/pkg/policy"
)

// pass sends a request to where it was going.
func (o *Outbound) pass(c *call) {
	c.Record.Reason = policy.PassThrough.String()
	send := relay
	if c.X.Destination().IsValid() {
		send = upstream.Exchange.Send // a redirected CONNECT is for the proxy that it was going to
	}
	c.Fail(send(c.X, o.Table.Stranger(c.going)))
}

// send tries endpoints of the version that was decided for, then of the version
// to fall back to, for as long as none has served the request and another may.
func (o *Outbound) send(c *call, d policy.Decision) {
	var err error
	for d.Version != nil {
		if err = o.try(c, d.Version); !elsewhere(err) {
			break
		}
		d = c.service.Fall(d.Version.Tag)
	}
	c.Record.Reason, c.Record.Fallback = d.Reason.String(), d.Reason.Fallback()
	switch {
	case errors.Is(err, errFull):
		c.Refuse(503, metrics.Overloaded, "every endpoint that may serve this request has as many as its limit allows")
	case d.Version != nil || reached(err):
		c.Fail(err)
	case err == nil || errors.Is(err, errNone):
		c.Refuse(503, metrics.Unavailable, "no version of the service may serve this request now")
	default:
		_, why := http1.Status(err)
		c.Refuse(503, metrics.Unavailable, "no endpoint that may serve this request could be reached: "+why)
	}
}

// try sends the request to endpoints of one version in turn, until one serves it.
// An error that sends it elsewhere means that none did.
func (o *Outbound) try(c *call, v *policy.Version) error {
	group, ok := v.Backend.(*upstream.Group)
	if !ok {
		return errUnbound
	}
	c.Record.Version = v.Tag
	err := errNone
	pick := group.Pick(o.key(c))
	for ep := pick.Next(o.now()); ep != nil; ep = pick.Next(o.now()) {
		c.Record.Endpoint = ep.Address
		err = relay(c.X, ep.Origin(c.going))
		pick.End(upstream.Result{Now: o.now(), Status: c.X.Status(), Waited: c.X.Waited(), Err: err})
		if !elsewhere(err) {
			return err
		}
	}
	if errors.Is(err, errNone) && pick.Full() {
		return errFull
	}
	return err
}

// key is what the service is balanced by. A request that has none goes anywhere.
func (o *Outbound) key(c *call) uint64 {
	if c.service.Balance.Type != "hash" {
		return 0
	}
	if key, ok := c.Policy.Key(c.service, o.Marks.Rules(&c.Request)); ok {
		return key
	}
	if o.Marks.Rand != nil {
		return o.Marks.Rand()
	}
	return rand.Uint64()
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

// relay sends a request to the origin. A CONNECT that is for us ends there; one in
// a tunnel is for the proxy at the end of that.
func relay(x upstream.Exchange, origin *upstream.Origin) error {
	if x.Head().Connect() && x.Via() == nil {
		return x.Tunnel(origin)
	}
	return x.Send(origin)
}

// reached reports whether the last endpoint got something of the request: then what
// it did, or did not do, is the answer.
func reached(err error) bool {
	e, ok := errors.AsType[*http1.Error](err)
	return ok && !e.Retryable
}

// elsewhere reports whether another endpoint may be tried: nothing of the request
// reached this one, or it does no harm that something did.
func elsewhere(err error) bool {
	if err == nil || errors.Is(err, errNone) {
		return err != nil
	}
	e, ok := errors.AsType[*http1.Error](err)
	return ok && (e.Retryable || e.Repeatable)
}

var (
	errUnbound = errors.New("the version has no endpoint table: the policy was published before it was bound")
	// errNone is for the request that came just after the last endpoint was taken out.
	errNone = errors.New("no endpoint of the version may be used now")
	errFull = errors.New("every endpoint of the version has as many requests as it may")
)
