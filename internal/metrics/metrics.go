// Package metrics counts what happens, for Prometheus.
//
// A Metrics owns a registry of its own, so two of them never meet. What a
// request touches (Record) costs look-ups in a map that
// nobody writes to, and no allocation. What others count already is read at the
// scrape (Func). docs/metrics.md lists every metric with the values of its labels.
package metrics

import (
	"log/slog"
	"net/http"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Direction is the side of the sidecar that a request came through.
type Direction uint8

// The sides.
const (
	Inbound  Direction = iota // "inbound": towards our app
	Outbound                  // "outbound": from our app
	Gateway                   // "gateway": from outside, to a service by its path
)

// String gives the value of the label direction.
func (d Direction) String() string {
	switch d {
	case Outbound:
		return "outbound"
	case Gateway:
		return "gateway"
	}
	return "inbound"
}

// Other is the tag that a request counts under whose own the policy does not name:
// callers choose the tags that they send, and each would be a time series more.
const Other = "other"

// durationBuckets are upper limits in seconds: from a reply out of memory beside
// us to a long poll. Streams end up in +Inf.
var durationBuckets = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}

// Metrics holds the counters of one sidecar. All methods may be called at once
// from many goroutines.
type Metrics struct {
	registry *prometheus.Registry
	policy   policyState
	versions versionState

	requests  *children[requestKey, requestChild]
	sources   *children[sourceKey, prometheus.Counter]
	fallbacks *children[fallbackKey, prometheus.Counter]
	failures  *children[failureKey, prometheus.Counter]
	leaks     *children[leakKey, prometheus.Counter]
	vectors   vectors // behind these
	names     names   // of the policy in force
	reloads   *prometheus.CounterVec

	mismatches  prometheus.Counter
	connections *children[connectionKey, prometheus.Counter]

	accessLog *slog.Logger // nil: none is kept
}

type requestKey struct {
	direction                   Direction
	service, tag, reason, class string
}

type requestChild struct {
	count    prometheus.Counter
	duration prometheus.Observer
}

type sourceKey struct {
	direction Direction
	source    string
}

type fallbackKey struct{ service, tag, reason string }

type leakKey struct{ service, tag, action string }

type failureKey struct {
	direction Direction
	reason    string
}

// New makes the counters, with those of the Go runtime and of the process, in a
// registry of their own. The version is shown by graylane_build_info.
func New(version string) *Metrics {
	requests := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "graylane_requests_total",
		Help: "Requests finished, by service, tag, reason of the decision and class of the status.",
	}, []string{"direction", "service", "tag", "reason", "class"})
	durations := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "graylane_request_duration_seconds",
		Help:    "Time from the head of a request to the last byte of its reply.",
		Buckets: durationBuckets,
	}, []string{"direction", "service"})
	sources := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "graylane_tag_source_total",
		Help: "Requests by where their tag came from.",
	}, []string{"direction", "source"})
	fallbacks := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "graylane_fallback_total",
		Help: "Tagged requests that base served in place of the version with their tag, by why.",
	}, []string{"service", "tag", "reason"})
	failures := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "graylane_errors_total",
		Help: "Requests that were not passed on, or not whole, by why.",
	}, []string{"direction", "error"})
	leaks := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "graylane_leak_total",
		Help: "Requests at a tagged pod that carried another tag, by what the guard did.",
	}, []string{"service", "tag", "action"})
	reloads := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "graylane_policy_reloads_total",
		Help: "New contents of the policy file, by what came of them.",
	}, []string{"result"})
	mismatches := prometheus.NewCounter(prometheus.CounterOpts{
		Name: "graylane_host_mismatch_total",
		Help: "Redirected requests whose Host is of another service than where they were going, which won.",
	})
	connections := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "graylane_connections_total",
		Help: "Redirected connections other than HTTP that are over, by what they spoke and how they ended.",
	}, []string{"direction", "protocol", "end"})
	build := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "graylane_build_info",
		Help: "1, for the version of this sidecar and the Go version that built it.",
	}, []string{"version", "goversion"})

	m := &Metrics{
		registry: prometheus.NewRegistry(),
		requests: newChildren(func(k requestKey) requestChild {
			direction := k.direction.String()
			return requestChild{
				count:    requests.WithLabelValues(direction, k.service, k.tag, k.reason, k.class),
				duration: durations.WithLabelValues(direction, k.service),
			}
		}),
		sources: newChildren(func(k sourceKey) prometheus.Counter {
			return sources.WithLabelValues(k.direction.String(), k.source)
		}),
		fallbacks: newChildren(func(k fallbackKey) prometheus.Counter {
			return fallbacks.WithLabelValues(k.service, k.tag, k.reason)
		}),
		failures: newChildren(func(k failureKey) prometheus.Counter {
			return failures.WithLabelValues(k.direction.String(), k.reason)
		}),
		leaks: newChildren(func(k leakKey) prometheus.Counter {
			return leaks.WithLabelValues(k.service, k.tag, k.action)
		}),
		vectors: vectors{requests: requests, fallbacks: fallbacks, leaks: leaks, durations: durations},
		reloads: reloads,

		mismatches: mismatches,
		connections: newChildren(func(k connectionKey) prometheus.Counter {
			return connections.WithLabelValues(k.direction.String(), k.protocol, k.end)
		}),
	}
	m.registry.MustRegister(
		requests, durations, sources, fallbacks, failures, leaks, reloads, mismatches, connections, build, &m.policy, &m.versions,
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	build.WithLabelValues(version, runtime.Version()).Set(1)
	// From the start at 0, so that increase() sees the first one.
	reloads.WithLabelValues(reloadOK)
	reloads.WithLabelValues(reloadBad)
	return m
}

// Request counts a finished request and how long it took. The service, the tag
// and the reason must come from closed lists (the policy, Other, policy.Reason):
// every new combination is a time series, until Names drops it. The
// status is the one that the caller got, 0 for none (see Class). The first
// request of its kind allocates, the others do not.
func (m *Metrics) Request(d Direction, service, tag, reason string, status int, took time.Duration) {
	c := m.requests.get(requestKey{d, service, tag, reason, Class(status)})
	c.count.Inc()
	c.duration.Observe(took.Seconds())
}

// TagSource counts where the tag of a request came from: a propagate.Source.
func (m *Metrics) TagSource(d Direction, source string) {
	m.sources.get(sourceKey{d, source}).Inc()
}

// Fallback counts a tagged request that base served in place of the version with
// its tag, and why: a policy.Reason. For the tag the same holds as for Request.
func (m *Metrics) Fallback(service, tag, reason string) {
	m.fallbacks.get(fallbackKey{service, tag, reason}).Inc()
}

// Failure counts a request that was not passed on, or not whole, and why: an error
// of this package or of package http1.
func (m *Metrics) Failure(d Direction, reason string) {
	m.failures.get(failureKey{d, reason}).Inc()
}

// Leak counts a request at a tagged pod that carried another tag, and what the guard
// of the service did with it. For the tag the same holds as for Request.
func (m *Metrics) Leak(service, tag, action string) {
	m.leaks.get(leakKey{service, tag, action}).Inc()
}

// Expect makes the fallback counters of a tagged version at 0, so that increase()
// sees the first fallback. The reasons are those that a fallback has.
func (m *Metrics) Expect(service, tag string, reasons ...string) {
	for _, reason := range reasons {
		m.fallbacks.get(fallbackKey{service, tag, reason})
	}
}

// Func adds a metric that is read at each scrape by calling f, which must be
// quick and safe to call at any time: a counter, or else a gauge. It panics on a
// name that is taken or is no metric name.
func (m *Metrics) Func(name, help string, counter bool, f func() float64) {
	if counter {
		m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, f))
		return
	}
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, f))
}

// Handler serves the metrics in the formats that Prometheus asks for. Scrapes
// that overlap share one collection, so that many scrapers cost as one.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{CoalesceGather: true})
}

// Describe sends the description of every metric, as prometheus.Collector has it.
func (m *Metrics) Describe(ch chan<- *prometheus.Desc) { m.registry.Describe(ch) }

// Class gives the value of the label class: "1xx" to "5xx", or "none" for a
// status that HTTP does not have, 0 above all: no reply reached the caller.
func Class(status int) string {
	switch status / 100 {
	case 1:
		return "1xx"
	case 2:
		return "2xx"
	case 3:
		return "3xx"
	case 4:
		return "4xx"
	case 5:
		return "5xx"
	}
	return "none"
}
