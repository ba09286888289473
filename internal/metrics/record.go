package metrics

import (
	"context"
	"log/slog"
	"net/netip"
	"time"
)

// Record is what happened to one request. The service, the source, the reason and
// the error are labels, and must come from closed lists; the tag may be anything.
// The bytes belong to the caller.
type Record struct {
	Direction Direction
	Service   string // empty: no service claims the host
	Version   string // tag of the version that it was sent to; empty: of none
	Tag       string // that it carries; empty: not marked
	Unnamed   bool   // the policy names no such tag: it is counted as Other
	Source    string // where the tag came from; empty: not marked
	Reason    string // of the decision
	Fallback  bool   // the reason is one why the tag's own version did not serve it
	Endpoint  string // where it was sent; empty: nowhere, or where it was going
	Error     string // why it could not be passed on, or not whole; empty: it was
	Status    int    // that the caller got; 0: none
	Took      time.Duration

	Inputs any // what the rules read, for the access log; nil: not wanted

	Peer                      netip.AddrPort
	Trace, Method, Host, Path []byte
}

// Errors of requests that the sidecar answers itself, beside those of package http1.
const (
	NoPolicy    = "no_policy"   // no policy is in force yet: 503
	NoHost      = "no_host"     // the request does not say where it goes: 400
	Unavailable = "unavailable" // no version that may serve it can: 503
	Overloaded  = "overloaded"  // each endpoint has as many requests as it may: 503
	Leaked      = "leaked"      // the request is for another version than this pod: 421
	NoRoute     = "no_route"    // gateway: no route of the policy leads there: 404
	BadPath     = "bad_path"    // gateway: what hides in the path may not reach the service: 400
	CORS        = "cors"        // gateway: the page's origin may not do this: 403
)

// Record counts a finished request, and logs it where an access log is kept. It
// allocates only for the log, and for the first request of its kind.
func (m *Metrics) Record(r *Record) {
	tag := r.Label()
	m.Request(r.Direction, r.Service, tag, r.Reason, r.Status, r.Took)
	if r.Source != "" {
		m.TagSource(r.Direction, r.Source)
	}
	if r.Fallback {
		m.Fallback(r.Service, tag, r.Reason)
	}
	if r.Error != "" {
		m.Failure(r.Direction, r.Error)
	}
	if m.accessLog != nil {
		m.accessLog.LogAttrs(context.Background(), slog.LevelInfo, "request", r.attrs()...)
	}
}

// Label is the tag that the request counts under.
func (r *Record) Label() string {
	if r.Unnamed {
		return Other
	}
	return r.Tag
}

// AccessLog makes Record write a line for each request to log. Call it before
// the first one.
func (m *Metrics) AccessLog(log *slog.Logger) { m.accessLog = log }

func (r *Record) attrs() []slog.Attr {
	attrs := []slog.Attr{
		slog.String("direction", r.Direction.String()),
		slog.String("service", r.Service),
		slog.String("version", r.Version),
		slog.String("tag", r.Tag),
		slog.String("source", r.Source),
		slog.String("reason", r.Reason),
		slog.String("trace", string(r.Trace)),
		slog.String("peer", r.Peer.String()),
		slog.String("method", string(r.Method)),
		slog.String("host", string(r.Host)),
		slog.String("path", string(r.Path)),
		slog.Int("status", r.Status),
		slog.Duration("duration", r.Took),
		slog.String("endpoint", r.Endpoint),
		slog.String("error", r.Error),
	}
	if r.Inputs != nil {
		attrs = append(attrs, slog.Any("inputs", r.Inputs))
	}
	return attrs
}
