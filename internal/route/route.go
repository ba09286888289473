// Package route sends a request to the version that was decided for.
//
// [Send] is what both directions of a sidecar, and the gateway, do once they know
// which version a request belongs to: it walks over the endpoints of that version,
// and then over those of the version to fall back to, until one serves it.
package route

import (
	"errors"
	"time"

	"graylane/internal/http1"
	"graylane/internal/mark"
	"graylane/internal/metrics"
	"graylane/internal/upstream"
	"graylane/pkg/policy"
)

// Way is where a request may go.
type Way struct {
	Service *policy.Service
	Key     uint64           // what the service is balanced by
	Caller  []byte           // where the caller was going, for endpoints without a port
	Now     func() time.Time // nil: time.Now

	reached int // endpoints that got something of the request
}

// Send sends the request to the version of d, or to the one to fall back to, and
// answers it if none has served it. It notes in the record what became of it.
func Send(r *mark.Request, w Way, d policy.Decision) {
	if w.Now == nil {
		w.Now = time.Now
	}
	var err error
	for d.Version != nil {
		if err = w.try(r, d.Version); !w.elsewhere(err) {
			break
		}
		d = w.Service.Fall(d.Version.Tag)
	}
	r.Record.Reason, r.Record.Fallback = d.Reason.String(), d.Reason.Fallback()
	switch {
	case errors.Is(err, errFull):
		r.Refuse(503, metrics.Overloaded, "every endpoint that may serve this request has as many as its limit allows")
	case d.Version != nil || reached(err):
		r.Fail(err)
	case err == nil || errors.Is(err, ErrNone):
		r.Refuse(503, metrics.Unavailable, "no version of the service may serve this request now")
	default:
		_, why := http1.Status(err)
		r.Refuse(503, metrics.Unavailable, "no endpoint that may serve this request could be reached: "+why)
	}
}

// try sends the request to endpoints of one version in turn, until one serves it.
// An error that sends it elsewhere means that none did.
func (w *Way) try(r *mark.Request, v *policy.Version) error {
	group, err := GroupOf(v)
	if err != nil {
		return err
	}
	r.Record.Version = v.Tag
	err = ErrNone
	pick := group.Pick(w.Key)
	pick.Caller = r.X
	for ep := pick.Next(w.Now()); ep != nil; ep = pick.Next(w.Now()) {
		r.Record.Endpoint = ep.Address
		err = Relay(r.X, ep.Origin(w.Caller))
		pick.End(upstream.Result{Now: w.Now(), Status: r.X.Status(), Waited: r.X.Waited(), Err: err, Leaving: r.X.Leaving()})
		if reached(err) {
			w.reached++
		}
		if !w.elsewhere(err) {
			return err
		}
	}
	switch {
	case pick.Left():
		return &http1.Error{Op: "wait", Reason: http1.CallerGone}
	case errors.Is(err, ErrNone) && pick.Full():
		return errFull
	}
	return err
}

// GroupOf gives the endpoints of a version.
func GroupOf(v *policy.Version) (*upstream.Group, error) {
	group, ok := v.Backend.(*upstream.Group)
	if !ok {
		return nil, errUnbound
	}
	return group, nil
}

// Relay sends a request to the origin. A CONNECT that is for us ends there; one in
// a tunnel is for the proxy at the end of that.
func Relay(x upstream.Exchange, origin *upstream.Origin) error {
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
// reached this one, or it does no harm that something did. But a request that kills
// the app that gets it is not taken to all of them: whatever the version, it is
// repeated as often as the service tries other endpoints of one, and once at least,
// to fall back.
func (w *Way) elsewhere(err error) bool {
	if err == nil || errors.Is(err, ErrNone) {
		return err != nil
	}
	e, ok := errors.AsType[*http1.Error](err)
	return ok && (e.Retryable || e.Repeatable && w.reached <= max(1, w.Service.Retries))
}

// ErrNone is for the request that came just after the last endpoint was taken out.
var ErrNone = errors.New("no endpoint of the version may be used now")

var (
	errUnbound = errors.New("the version has no endpoint table: the policy was published before it was bound")
	errFull    = errors.New("every endpoint of the version has as many requests as it may")
)
