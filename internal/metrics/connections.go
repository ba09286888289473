package metrics

import "github.com/prometheus/client_golang/prometheus"

// Connections shows the connections of a direction: how many are open, and how
// many there ever were that ended by a panic.
func (m *Metrics) Connections(d Direction, open func() int, panics func() uint64) {
	labels := prometheus.Labels{"direction": d.String()}
	m.registry.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "graylane_connections", Help: "Connections that are open.", ConstLabels: labels,
		}, func() float64 { return float64(open()) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "graylane_connection_panics_total", Help: "Connections that ended by a fault of the sidecar, with a stack in its log.", ConstLabels: labels,
		}, func() float64 { return float64(panics()) }),
	)
}
