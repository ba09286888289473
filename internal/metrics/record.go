package metrics

import (
	"context"
	"log/slog"
	"net/netip"
	"time"
)

// Record is what happened to one request. The service, the tag and the strings
// that are labels come from closed lists, as Request says; the bytes belong to
// the caller.
type Record struct {
	Direction Direction
	Service   string // empty: no service claims the host
	Version   string // tag of the version that it was sent to; empty: of none
	Tag       string // Other where the policy names no such tag; empty: not marked
	Source    string // where the tag came from; empty: not marked
	Reason    string // of the decision
	Fallback  bool   // the reason is one why the tag's own version did not serve it
	Endpoint  string // where it was sent; empty: nowhere, or where it was going
	Status    int    // that the caller got; 0: none
	Took      time.Duration

	Inputs any // what the rules read, for the access log; nil: not wanted

	Peer                      netip.AddrPort
	Trace, Method, Host, Path []byte
}

// Record counts a finished request, and logs it where an access log is kept. It
// allocates only for the log, and for the first request of its kind.
func (m *Metrics) Record(r *Record) {
	m.Request(r.Direction, r.Service, r.Tag, r.Reason, r.Status, r.Took)
	if r.Source != "" {
		m.TagSource(r.Direction, r.Source)
	}
	if r.Fallback {
		m.Fallback(r.Service, r.Tag, r.Reason)
	}
	if m.accessLog != nil {
		m.accessLog.LogAttrs(context.Background(), slog.LevelInfo, "request", r.attrs()...)
	}
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
	}
	if r.Inputs != nil {
		attrs = append(attrs, slog.Any("inputs", r.Inputs))
	}
	return attrs
}
