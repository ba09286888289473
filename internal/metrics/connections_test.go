package metrics_test

import (
	"strings"
	"testing"

	"graylane/internal/metrics"
)

func TestConnectionsAreReadAtEachScrape(t *testing.T) {
	m := metrics.New("v1")
	open, panics := 0, uint64(0)
	m.Connections(metrics.Inbound, func() int { return open }, func() uint64 { return panics })
	m.Connections(metrics.Outbound, func() int { return 0 }, func() uint64 { return 0 })
	open, panics = 3, 1
	page := scrape(t, m)
	for _, want := range []string{
		"# TYPE graylane_connections gauge",
		`graylane_connections{direction="inbound"} 3`,
		`graylane_connections{direction="outbound"} 0`,
		"# TYPE graylane_connection_panics_total counter",
		`graylane_connection_panics_total{direction="inbound"} 1`,
		`graylane_connection_panics_total{direction="outbound"} 0`,
	} {
		if !strings.Contains(page, want+"\n") {
			t.Errorf("the page lacks %s", want)
		}
	}
}
