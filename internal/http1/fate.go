package http1

import "errors"

// fate is what a sidecar tells the one before it, and nobody behind that, about a request that its app did not answer: an
// option of Connection on its own 502 or 504.
type fate uint8

const (
	answered   fate = iota
	unsent          // nothing of it has reached the app: whatever it asks for, it may be sent elsewhere
	unanswered      // the app has it, or part of it, and is gone: it may be repeated elsewhere if it is idempotent
)

var fates = [...]string{unsent: "graylane-unsent", unanswered: "graylane-unanswered"}

// Leaving is the option of Connection by which a sidecar that drains tells the one before it that its pod is about to end.
// "close" alone would not say so: some apps close after each reply.
const Leaving = "graylane-leaving"

// Fate is how Connection says what became of a request that ended with e, "" if there is nothing to say: for who answers in
// the place of a sidecar.
func Fate(e *Error) string { return fates[fateOf(e)] }

// fateOf is what becomes of a request that ended with e.
func fateOf(e *Error) fate {
	switch {
	case e.Reason == BadReply:
		return answered // it is there, and its people have to hear what is wrong with it
	case e.Retryable:
		return unsent
	case e.Reason == OriginClosed:
		return unanswered
	}
	return answered
}

// Unanswered is the error of a request to an origin whose sidecar said that its app did not answer: that nothing of it has
// reached the app, or that it may have. Whether the whole request is still at hand, for it to be sent elsewhere, is left to
// say.
func Unanswered(addr string, sent bool) *Error {
	if sent {
		return &Error{Op: "receive", Addr: addr, Reason: OriginClosed, Err: errUnanswered}
	}
	return &Error{Op: "connect", Addr: addr, Reason: ConnectRefused, Err: errUnsent}
}

var (
	errUnsent     = errors.New("nothing of the request has reached the app there")
	errUnanswered = errors.New("the app there has closed its connection")
)
