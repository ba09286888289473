package main

import (
	"cmp"
	"context"
	"net"
	"net/netip"
	"slices"

	"graylane/internal/admin"
	"graylane/internal/discovery"
	"graylane/internal/http1"
	"graylane/internal/mark"
	"graylane/internal/metrics"
	"graylane/internal/upstream"
	"graylane/pkg/inbound"
	"graylane/pkg/outbound"
	"graylane/pkg/policy"
	"graylane/pkg/propagate"
)

// wire connects the parts: who serves which listener, and what they share.
func (sc *sidecar) wire(carrier *propagate.Carrier, ledger *propagate.Ledger) {
	s := sc.settings
	in, out := sc.inbound.set.Addrs(), slices.Concat(sc.outbound.set.Addrs(), sc.gateway.set.Addrs())
	g := &guard{own: slices.Concat(in, out)}
	limits := http1.Config{
		MaxHead: s.MaxHead, MaxBody: s.MaxBody, HeadTimeout: s.HeadTimeout, Log: sc.log,
		Keep: []string{mark.HopsHeader},
	}

	sc.table = upstream.NewTable(http1.OriginConfig{Dial: g.dialer(out, sc.files.ofApp()), Log: sc.log})
	sc.table.Zone, sc.table.Log = s.Zone, sc.log
	sc.owners = &discovery.Owners{Names: sc.names, Log: sc.log}
	marks := &mark.Marker{Carrier: carrier, Ledger: ledger, Tag: s.Tag, LogInputs: s.LogInputs}
	from := &outbound.Outbound{
		Store: sc.store, Table: sc.table, Marks: marks, Metrics: sc.metrics,
		Owner: sc.owners.At, Dial: g.dialer(g.own, sc.files.ofApp()),
	}
	sc.wireSide(sc.outbound, g, sc.files.ofApp(), from.Connect)
	limits.Refused, limits.Look = sc.refused(metrics.Outbound), sc.outbound.look
	limits.MaxConns = sc.maxConnections(sc.outbound)
	sc.outbound.answer(limits, from)

	limits.CloseOnDrain, limits.Look = true, nil // the others are nobody's proxy
	sc.wireSide(sc.gateway, g, sc.files.callers(), from.Connect)
	limits.Refused = sc.refused(metrics.Gateway)
	limits.MaxConns = sc.maxConnections(sc.gateway)
	sc.gateway.answer(limits, outbound.Gateway{Outbound: from})

	towards := &inbound.Inbound{
		Store: sc.store, App: apps(s.App, http1.OriginConfig{Dial: g.dialer(g.own, sc.files.toApp()), Log: sc.log}), Marks: marks, Metrics: sc.metrics,
		Service: s.Service, Edge: s.Edge,
	}
	sc.wireSide(sc.inbound, g, sc.files.callers(), func(ctx context.Context, dst netip.AddrPort, c *metrics.Connection) (net.Conn, error) {
		c.Service, c.Reason, c.Endpoint = s.Service, policy.Local.String(), dst.String()
		return sc.inbound.dial(ctx, c.Endpoint)
	})
	limits.Refused, limits.Sidecars = sc.refused(metrics.Inbound), true
	limits.MaxConns = sc.maxConnections(sc.inbound)
	sc.inbound.answer(limits, towards)

	sc.metrics.Func("graylane_ledger_conflicts_total", "Trace ids that became ambiguous: two live decisions under one id.",
		true, func() float64 { return float64(ledger.Conflicts()) })
	sc.metrics.Func("graylane_ledger_entries", "Trace ids whose tag is remembered.",
		false, func() float64 { return float64(ledger.Len()) })

	sc.metrics.Versions(upstream.States(), sc.table.Versions)

	sc.adminServer = admin.NewServer(admin.New(admin.Options{
		Store: sc.store, Reloads: sc.reloads, Table: sc.table, Metrics: sc.metrics, Readiness: sc.ready,
		Drain: sc.beginDrain, Version: buildVersion(), Log: sc.log,
	}), sc.log)
	sc.healthServer = admin.NewServer(admin.NewHealth(sc.ready, sc.metrics), sc.log)
}

// wireSide fills in what all sides have. Descriptors from mark on are not for the
// callers of this one.
func (sc *sidecar) wireSide(s *side, g *guard, mark int, connect connectFunc) {
	s.files, s.mark = sc.files, mark
	s.store, s.metrics, s.guard, s.log = sc.store, sc.metrics, g, sc.log
	s.detector.Opaque, s.relay.Idle = sc.settings.OpaquePorts, sc.settings.TCPIdle
	s.dial, s.connect = g.dialer(g.own, max(mark, sc.files.toApp())), connect
	s.undecided, s.giveUp = context.WithCancel(context.Background())
	sc.metrics.Relay(s.direction, s.relay.Open, s.relay.Bytes)
	sc.metrics.Connections(s.direction, s.set.Open, s.panics)
}

// maxConnections is how many connections the side serves at a time.
func (sc *sidecar) maxConnections(s *side) int {
	return min(cmp.Or(sc.settings.MaxConnections, usualConnections), s.mark-sc.files.spare())
}

// apps gives the app's address for each call: the one that it was for, so that an
// app may have several ports, and the setting for calls to the sidecar itself.
func apps(app string, cfg http1.OriginConfig) func(netip.AddrPort) *upstream.Origin {
	explicit, redirected := upstream.NewOrigin(app, cfg), upstream.NewTable(cfg)
	return func(dst netip.AddrPort) *upstream.Origin {
		if !dst.IsValid() {
			return explicit
		}
		var scratch [80]byte // more than the text of any address and port
		return redirected.Stranger(dst.AppendTo(scratch[:0]))
	}
}
