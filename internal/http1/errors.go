package http1

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"syscall"
)

// Error says what went wrong with an exchange.
type Error struct {
	Op     string // what was tried: "connect", "send", "receive", "relay", "tunnel"
	Addr   string // of the origin
	Reason string // one of the reasons below
	Err    error

	// Retryable: nothing reached the origin, and the whole request is still at hand: it can be sent
	// elsewhere.
	Retryable bool
	// Repeatable: the origin may have acted on the request, but nothing of a reply was passed on, the
	// method is idempotent, and the whole request is still at hand.
	Repeatable bool
}

func (e *Error) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("%s %s: %s", e.Op, e.Addr, e.Reason)
	}
	return fmt.Sprintf("%s %s: %s: %v", e.Op, e.Addr, e.Reason, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// Reasons of errors. They appear in X-Graylane-Error and in metrics.
const (
	ConnectRefused = "connect_refused"  // nobody listens, or no way there: 502
	ConnectTimeout = "connect_timeout"  // 504
	DNSFailed      = "dns_failed"       // the name of the origin could not be resolved: 502
	OutOfFiles     = "out_of_files"     // we have no descriptor left to connect with: 503
	OriginClosed   = "origin_closed"    // the origin ended the connection before, or in the middle of, its reply: 502
	HeaderTimeout  = "header_timeout"   // the origin took too long to begin its reply: 504
	IdleTimeout    = "idle_timeout"     // no byte moved for too long, and it was the origin's turn: 504
	BadReply       = "bad_reply"        // what came is not HTTP, or not to be trusted: 502
	CallerGone     = "caller_gone"      // nobody is left to reply to
	CallerTimeout  = "caller_timeout"   // no byte moved for too long, and it was the caller's turn: 408
	BadRequest     = "bad_request"      // 400
	HeadTooLarge   = "head_too_large"   // 431
	BodyTooLarge   = "body_too_large"   // 413
	BadVersion     = "version"          // HTTP/2 in text and the like: 505
	TooManyConns   = "too_many_callers" // 503
	ShuttingDown   = "shutting_down"    // Server.Close: 503
	NoReply        = "no_reply"         // a Handler that returned without one: 500
	Loop           = "loop"             // the way leads back to us: 508
	WrongMethod    = "not_a_connect"    // Tunnel of anything else: 400
)

var statuses = map[string]int{
	ConnectRefused: 502, ConnectTimeout: 504, DNSFailed: 502, OutOfFiles: 503, OriginClosed: 502, HeaderTimeout: 504, IdleTimeout: 504,
	BadReply: 502, CallerGone: 0, CallerTimeout: 408, BadRequest: 400, HeadTooLarge: 431,
	BodyTooLarge: 413, BadVersion: 505, TooManyConns: 503, ShuttingDown: 503, NoReply: 500, Loop: 508, WrongMethod: 400,
}

// ConnectError says why addr could not be connected to with ctx. An *Error of the dialer's is passed
// on as it is.
func ConnectError(ctx context.Context, addr string, err error) *Error {
	if known, ok := errors.AsType[*Error](err); ok {
		return known
	}
	e := &Error{Op: "connect", Addr: addr, Reason: ConnectRefused, Retryable: true, Err: err}
	_, unresolved := errors.AsType[*net.DNSError](err)
	timeout, ok := errors.AsType[net.Error](err)
	switch {
	case NoFiles(err):
		// Another origin would fare no better, and this one is not to blame.
		e.Reason, e.Retryable = OutOfFiles, false
	case unresolved:
		e.Reason = DNSFailed
	case ctx.Err() != nil || ok && timeout.Timeout():
		e.Reason = ConnectTimeout
	}
	return e
}

// NoFiles reports whether err is that this process, or the machine, has no descriptor left.
func NoFiles(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

// Reasons lists every reason that an Error may have, in alphabetical order.
func Reasons() []string { return slices.Sorted(maps.Keys(statuses)) }

// Status is the one place that turns an error into the status of a reply. 0: there is nobody to
// reply to.
func Status(err error) (status int, reason string) {
	var e *Error
	if !errors.As(err, &e) {
		return 502, "error"
	}
	status, ok := statuses[e.Reason]
	if !ok {
		return 502, e.Reason
	}
	return status, e.Reason
}
