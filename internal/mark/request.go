package mark

import (
	"time"

	"graylane/internal/http1"
	"graylane/internal/metrics"
	"graylane/internal/upstream"
	"graylane/pkg/policy"
	"graylane/pkg/propagate"
)

// Request is a request under way: whose it is, and the record of what becomes of
// it. It is too large for a stack, and should be kept and begun again.
type Request struct {
	X      upstream.Exchange
	Head   upstream.Head
	Host   []byte         // whom the caller has named: the target of a tunnel, whatever is said in it
	Policy *policy.Policy // from start to end; nil: none is in force
	Start  time.Time
	Mark   propagate.Mark // zero before Find
	Record metrics.Record

	wire  propagate.Wire
	ids   propagate.IDs
	rules policy.Request
}

// Begin starts over with the request of x, under p.
func (r *Request) Begin(x upstream.Exchange, d metrics.Direction, p *policy.Policy, now time.Time) {
	r.X, r.Head, r.Policy, r.Start, r.Mark = x, x.Head(), p, now, propagate.Mark{}
	if r.Host = x.Via(); r.Host == nil {
		r.Host = r.Head.Authority()
	}
	r.Record = metrics.Record{
		Direction: d, Peer: x.Caller(), Method: r.Head.Method(), Host: r.Host, Path: r.Head.Path(),
	}
	if p != nil {
		r.wire = Wire(p)
	}
}

// End completes the record: the caller has what it gets.
func (r *Request) End(now time.Time) {
	r.Record.Status, r.Record.Took = r.X.Status(), now.Sub(r.Start)
}

// Refuse answers in place of an endpoint.
func (r *Request) Refuse(status int, reason, text string) {
	r.Record.Reason, r.Record.Error = policy.Unavailable.String(), reason
	r.X.Reply(status, reason, text)
}

// Fail answers what became of a request that was sent; nil: it was answered.
func (r *Request) Fail(err error) {
	if err == nil {
		return
	}
	_, r.Record.Error = http1.Status(err)
	r.X.Fail(err)
}
