// Package admin shows operators health, metrics, the policy in force, and why.
//
// It has two faces. NewHealth is for the kubelet and Prometheus, who come from
// outside the pod, and tells no more than they need. New is for operators on
// loopback, and may change things. NewServer serves either. What they show is kept
// by others, but for Readiness and Reloads, which the rest of the sidecar writes
// to.
package admin

import (
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"strings"
	"time"

	"graylane/internal/metrics"
	"graylane/internal/upstream"
	"graylane/pkg/policy"
)

// Options is what New shows and does. All fields but Now are required.
type Options struct {
	Store     *policy.Store
	Reloads   *Reloads
	Table     *upstream.Table
	Metrics   *metrics.Metrics
	Readiness *Readiness
	Drain     func() // begins to drain and returns at once; may be called more than once
	Version   string
	Log       *slog.Logger
	Now       func() time.Time // nil: time.Now
}

// New serves operators: / lists what there is.
//
// It is for loopback only, and takes that seriously: a Host that is no loopback
// address and not localhost is refused with 403, so that no web page can reach it
// through a name that resolves to 127.0.0.1 (DNS rebinding), and so is a POST that
// a page of another origin makes a browser send.
func New(o Options) http.Handler {
	if o.Now == nil {
		o.Now = time.Now
	}
	routes := []route{
		{http.MethodGet, "/policy", "the policy in force, as JSON", o.policy()},
		{http.MethodGet, "/endpoints", "every endpoint, as a table; ?format=json for programs", o.endpoints()},
		{http.MethodGet, "/metrics", "the metrics, for Prometheus", o.Metrics.Handler()},
		{http.MethodGet, "/ready", "whether this sidecar is ready, and what is pending", ready(o.Readiness)},
		{http.MethodPost, "/drain", "be unready and let callers go elsewhere; serves on", o.drain()},
		{http.MethodGet, "/debug/pprof/", "profiles, for go tool pprof", http.HandlerFunc(pprof.Index)},
	}
	mux := newMux(routes, "not found: / lists what there is")
	mux.Handle("/{$}", route{method: http.MethodGet, path: "/", handler: index(o.Version, routes)})
	// What pprof.Index lists but does not serve itself.
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return onlyLoopback(http.NewCrossOriginProtection().Handler(mux))
}

func index(version string, routes []route) http.HandlerFunc {
	lines := []string{"graylane sidecar " + version, ""}
	for _, r := range routes {
		lines = append(lines, r.method+"\t"+r.path+"\t"+r.about)
	}
	text := aligned(lines)
	return func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, text) }
}

func (o *Options) drain() http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		o.Log.Info("drain asked for", "peer", r.RemoteAddr)
		o.Drain()
		answer(w, http.StatusOK, "draining")
	}
}

// onlyLoopback refuses requests for a host that is not this machine's loopback.
func onlyLoopback(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isLoopback(r.Host) {
			answer(w, http.StatusForbidden, "forbidden: this port answers for localhost, 127.0.0.1 and [::1] only")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// isLoopback takes the value of a Host header. None at all (HTTP/1.0) passes: no
// browser leaves it out.
func isLoopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.Trim(host, "[]")
	if host == "" || strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}
