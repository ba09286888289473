package http2

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"time"

	"graylane/internal/http1"
)

// mostTries is how often a request that the origin has not begun is sent to it: on
// another connection, where the one that was at hand was about to be closed. Who
// refuses more often has too much to do.
const mostTries = 2

// Send sends the request, with its edits, to o and relays the reply, both ways at
// once. It returns nil when the whole reply was passed on; else the error is an
// *http1.Error.
func (x *Exchange) Send(o *Origin) error {
	if x.replied || x.broken || !x.body.again() {
		return &http1.Error{Op: "send", Addr: o.addr, Reason: http1.NoReply, Err: errReplied}
	}
	total, cfg := time.Duration(0), &o.cfg
	if x.grpc {
		total, cfg = x.left(), nil
	}
	first := waiting
	if x.Req.http.ContentLength != 0 {
		first = uploading
	}
	ctx := x.limit.start(x.Req.http.Context(), first, total, cfg)
	defer x.limit.stop()
	x.leaving = false
	for tries := 1; ; tries++ {
		x.limit.rest() // to connect has a time of its own
		l, used, e := o.take(ctx)
		if e != nil {
			return x.explain(ctx, o, e)
		}
		x.limit.moved(first)
		reply, err := x.roundTrip(ctx, o, l)
		if err == nil {
			if e := x.hear(o, reply); e != nil {
				_ = reply.Body.Close() // it says nothing else
				return x.explain(ctx, o, e)
			}
			return x.relay(ctx, o, reply)
		}
		e = x.explain(ctx, o, err)
		if !e.Retryable || tries == mostTries || !used && !unprocessed(err) {
			return e
		}
	}
}

var errReplied = errors.New("the request was answered, or partly sent, already")

// left is what is left of the time that a call of gRPC may take, 0 if it does not
// say.
func (x *Exchange) left() time.Duration {
	total, ok := timeout(x.Req.http.Header.Get("Grpc-Timeout"))
	if !ok {
		return 0
	}
	return max(total-time.Since(x.start), time.Nanosecond)
}

// roundTrip sends the request on a connection and waits for the head of the reply.
func (x *Exchange) roundTrip(ctx context.Context, o *Origin, l *link) (*http.Response, error) {
	x.sent.Store(false)
	asked := time.Now()
	out := x.Req.http.WithContext(httptrace.WithClientTrace(ctx, &x.trace))
	out.URL = x.Req.target(o.addr)
	out.Body = &try{body: &x.body}
	switch {
	case out.ContentLength != 0:
	case len(out.Trailer) > 0:
		out.ContentLength = -1
	default:
		out.Body = http.NoBody
		x.body.err = io.EOF
	}
	if _, ok := out.Header["User-Agent"]; !ok {
		out.Header["User-Agent"] = nil // else net/http adds one
	}
	reply, err := l.http.RoundTrip(out)
	x.waited = 0
	switch {
	case err == nil:
		x.waited = time.Since(asked)
	case l.foreign.Load():
		err = o.misunderstood(err)
	}
	return reply, err
}

// explain makes an *http1.Error of what went wrong between us and the origin, or is
// the caller's fault.
func (x *Exchange) explain(ctx context.Context, o *Origin, err error) *http1.Error {
	e := &http1.Error{Op: "receive", Addr: o.addr, Reason: http1.OriginClosed, Err: err}
	if x.replied {
		e.Op = "relay"
	}
	late, isLate := errors.AsType[*http1.Error](context.Cause(ctx))
	known, isKnown := errors.AsType[*http1.Error](err)
	failed := x.body.failed()
	overLimit, isOverLimit := errors.AsType[*http1.Error](failed)
	switch {
	case isLate:
		e.Reason = late.Reason
	case ctx.Err() != nil:
		e.Reason = http1.CallerGone
	case isOverLimit:
		e.Reason = overLimit.Reason
	case failed != nil:
		e.Reason = http1.CallerGone
	case isKnown: // and logged
		own := *known // it may be told to others too
		own.Retryable = own.Retryable && x.body.again()
		own.Repeatable = own.Repeatable && idempotent(x.Req.http.Method) && x.body.again()
		return &own
	case malformed(err):
		e.Reason = http1.BadReply
		o.complaints.BadReply(err)
	case x.replied:
	case tooLarge(err):
		e.Op, e.Reason = "send", http1.HeadTooLarge
	case !x.sent.Load():
		e.Op, e.Retryable = "send", x.body.again()
	case unprocessed(err):
		e.Retryable = x.body.again()
	default:
		e.Repeatable = idempotent(x.Req.http.Method) && x.body.again()
	}
	return e
}

// streamError is the error of a stream that was reset, in the shape that net/http
// gives to who asks for it (golang.org/x/net/http2.StreamError).
type streamError struct {
	StreamID uint32
	Code     uint32
	Cause    error
}

func (e streamError) Error() string { return "stream was reset" }

// unprocessed tells whether the origin has said that it did not begin the request:
// by REFUSED_STREAM, or by a GOAWAY that names an earlier one as its last (RFC 9113,
// section 8.7). For the latter net/http has no error but a text.
func unprocessed(err error) bool {
	if reset, ok := errors.AsType[streamError](err); ok {
		return reset.Code == resetRefused
	}
	return strings.HasSuffix(err.Error(), "graceful shutdown GOAWAY")
}

// tooLarge tells whether the head is over what the origin takes, for which net/http
// has nothing but a text.
func tooLarge(err error) bool {
	return strings.HasSuffix(err.Error(), "request header list larger than peer's advertised limit")
}

// malformed tells whether the connection or the stream was ended for what the origin
// has sent. Of a connection net/http tells by nothing but a text.
func malformed(err error) bool {
	if reset, ok := errors.AsType[streamError](err); ok {
		return reset.Cause == nil || reset.Cause.Error() != "received from peer"
	}
	return strings.HasPrefix(err.Error(), "connection error: ")
}

// idempotent methods may be repeated without doing more than once (RFC 9110,
// section 9.2.2).
func idempotent(method string) bool {
	switch method {
	case "GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE":
		return true
	}
	return false
}
