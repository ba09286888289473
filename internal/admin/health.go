package admin

import (
	"net/http"
	"strings"

	"graylane/internal/metrics"
)

// NewHealth serves what the kubelet and Prometheus ask for from outside the pod,
// and nothing else:
//
//	/live     200: the process answers
//	/ready    200 ok, or 503 with the tasks that are pending, one a line
//	/metrics  the metrics
//
// A bad policy does not make a sidecar unready: the last good one is in force.
func NewHealth(r *Readiness, m *metrics.Metrics) http.Handler {
	return newMux([]route{
		{method: http.MethodGet, path: "/live", handler: http.HandlerFunc(live)},
		{method: http.MethodGet, path: "/ready", handler: ready(r)},
		{method: http.MethodGet, path: "/metrics", handler: m.Handler()},
	}, "not found: this port has /live, /ready and /metrics")
}

func live(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, "ok") }

func ready(r *Readiness) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if pending := r.Pending(); len(pending) > 0 {
			answer(w, http.StatusServiceUnavailable, strings.Join(pending, "\n"))
			return
		}
		answer(w, http.StatusOK, "ok")
	}
}
