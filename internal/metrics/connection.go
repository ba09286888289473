package metrics

import (
	"context"
	"log/slog"
	"net/netip"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Connection is what happened to one redirected connection that was no HTTP, or
// was refused before that could be known. The protocol, the
// service, the tag, the reason and the end come from closed lists.
type Connection struct {
	Direction Direction
	Protocol  string // a listen.Protocol
	End       string // one of the ends below
	Service   string // empty: no service claims it
	Tag       string // empty: no version was chosen for it
	Reason    string // of the decision; empty: there was none
	Endpoint  string // where it went
	Took      time.Duration

	Peer, Destination  netip.AddrPort
	ServerName         string // that its TLS asks for
	ToOrigin, ToCaller uint64 // bytes that were relayed
	Err                error  // why it ended before its time
}

// Ends of connections.
const (
	Ended   = "ended"   // both sides have ended
	Reset   = "reset"   // one side was reset, or an idle limit or the end of the sidecar came
	Refused = "refused" // it could not be taken to where it was going
	Looped  = "looped"  // it would have come back to us
)

type connectionKey struct {
	direction     Direction
	protocol, end string
}

// Connection counts a connection that is over, and logs it where an access log is
// kept.
func (m *Metrics) Connection(c *Connection) {
	m.connections.get(connectionKey{c.Direction, c.Protocol, c.End}).Inc()
	if m.accessLog != nil {
		m.accessLog.LogAttrs(context.Background(), slog.LevelInfo, "connection", c.attrs()...)
	}
}

// HostMismatch counts a request whose Host and destination are of different
// services.
func (m *Metrics) HostMismatch() { m.mismatches.Inc() }

// Relay shows what a relay of raw connections is doing: how many are open, and
// the bytes of all that there ever were.
func (m *Metrics) Relay(d Direction, open func() int, bytes func() (toOrigin, toCaller uint64)) {
	labels := prometheus.Labels{"direction": d.String()}
	towards := func(to string) prometheus.Labels {
		return prometheus.Labels{"direction": d.String(), "towards": to}
	}
	const bytesName, bytesHelp = "graylane_relayed_bytes_total", "Bytes of raw connections that were passed on."
	m.registry.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "graylane_relayed_connections", Help: "Raw connections that are open.", ConstLabels: labels,
		}, func() float64 { return float64(open()) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: bytesName, Help: bytesHelp, ConstLabels: towards("origin")},
			func() float64 { n, _ := bytes(); return float64(n) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: bytesName, Help: bytesHelp, ConstLabels: towards("caller")},
			func() float64 { _, n := bytes(); return float64(n) }),
	)
}

func (c *Connection) attrs() []slog.Attr {
	attrs := []slog.Attr{
		slog.String("direction", c.Direction.String()),
		slog.String("protocol", c.Protocol),
		slog.String("service", c.Service),
		slog.String("tag", c.Tag),
		slog.String("reason", c.Reason),
		slog.String("peer", c.Peer.String()),
		slog.String("destination", c.Destination.String()),
		slog.String("endpoint", c.Endpoint),
		slog.String("sni", c.ServerName),
		slog.String("end", c.End),
		slog.Uint64("sent", c.ToOrigin),
		slog.Uint64("received", c.ToCaller),
		slog.Duration("duration", c.Took),
	}
	if c.Err != nil {
		attrs = append(attrs, slog.String("error", c.Err.Error()))
	}
	return attrs
}
