package outbound

import (
	"errors"

	"graylane/internal/http1"
	"graylane/internal/upstream"
	"graylane/pkg/policy"
)

// pass sends a request to where it was going.
func (o *Outbound) pass(c *call) {
	c.record.Reason = policy.PassThrough.String()
	if err := relay(c.x, o.Table.Stranger(c.x.Req.Authority())); err != nil {
		c.x.Fail(err)
	}
}

// send tries the endpoints of the version that was decided for, then those of
// the version to fall back to, while nothing of the request has reached any.
func (o *Outbound) send(c *call, d policy.Decision) {
	var err error
	for d.Version != nil {
		if err = o.try(c, d.Version); !retryable(err) {
			break
		}
		d = c.service.Fall(d.Version.Tag)
	}
	c.record.Reason, c.record.Fallback = d.Reason.String(), d.Reason.Fallback()
	switch {
	case err != nil:
		c.x.Fail(err)
	case d.Version == nil:
		c.x.Reply(503, d.Reason.String(), "no version of the service may serve this request now")
	}
}

// try sends the request to the endpoints of one version in turn, until one is
// reached. A retryable error means that none was.
func (o *Outbound) try(c *call, v *policy.Version) error {
	group, ok := v.Backend.(*upstream.Group)
	if !ok {
		return errUnbound
	}
	var err error
	pick := group.Pick()
	for ep := pick.Next(); ep != nil; ep = pick.Next() {
		c.record.Endpoint = ep.Address
		err = relay(c.x, ep.Begin(c.x.Req.Authority()))
		ep.End(err)
		if !retryable(err) {
			break
		}
	}
	return err
}

func relay(x *http1.Exchange, origin *http1.Origin) error {
	if x.Req.Connect() {
		return x.Tunnel(origin)
	}
	return x.Send(origin)
}

// retryable reports whether another endpoint may be tried: nothing of the
// request reached this one.
func retryable(err error) bool {
	var e *http1.Error
	return errors.As(err, &e) && e.Retryable
}

var errUnbound = errors.New("the version has no endpoint table: the policy was published before it was bound")
