package metrics

import "github.com/prometheus/client_golang/prometheus"

// Version is what is known of one version of a service at a scrape. Its counters
// begin anew when the version leaves the policy and comes back.
type Version struct {
	Service, Tag string
	Endpoints    map[string]int // by state; a state that is missing has none
	Stale        bool           // the source of the endpoints fails

	Retries    uint64 // requests sent to another endpoint after one failed
	Denied     uint64 // of those that were to be: beyond the budget
	Overloaded uint64 // requests that found every endpoint at its limit
	Ejections  uint64 // times that an endpoint was taken out
	Passed     uint64 // active checks
	Failed     uint64
}

// Versions makes every scrape ask read for what is known of the versions. states
// are all that an endpoint can have. Call it before the first scrape.
func (m *Metrics) Versions(states []string, read func() []Version) {
	m.versions.states, m.versions.read = states, read
}

// versionState is a collector of its own, since versions come and go with the
// policy: a vector would keep the series of those that have gone.
type versionState struct {
	states []string
	read   func() []Version // nil: there are none
}

func endpointsDesc() *prometheus.Desc {
	return prometheus.NewDesc("graylane_endpoints",
		"Endpoints of a version, by state.", []string{"service", "tag", "state"}, nil)
}

func staleDesc() *prometheus.Desc {
	return prometheus.NewDesc("graylane_endpoints_stale",
		"1 while the source of the endpoints fails, and what it found last is in use.", []string{"service", "tag"}, nil)
}

func checksDesc() *prometheus.Desc {
	return prometheus.NewDesc("graylane_health_checks_total",
		"Active health checks, by their outcome.", []string{"service", "tag", "outcome"}, nil)
}

// versionCounter is a counter with the labels service and tag.
type versionCounter struct {
	desc *prometheus.Desc
	of   func(*Version) uint64
}

func versionCounters() []versionCounter {
	counter := func(name, help string, of func(*Version) uint64) versionCounter {
		return versionCounter{prometheus.NewDesc(name, help, []string{"service", "tag"}, nil), of}
	}
	return []versionCounter{
		counter("graylane_retries_total", "Requests sent to another endpoint of the version after one had failed.",
			func(v *Version) uint64 { return v.Retries }),
		counter("graylane_retries_denied_total", "Requests that were not, since retries would have been more than a fifth.",
			func(v *Version) uint64 { return v.Denied }),
		counter("graylane_overloaded_total", "Requests that found every endpoint of the version at its limit: 503.",
			func(v *Version) uint64 { return v.Overloaded }),
		counter("graylane_ejections_total", "Times that an endpoint of the version was taken out.",
			func(v *Version) uint64 { return v.Ejections }),
	}
}

// Describe is part of prometheus.Collector.
func (s *versionState) Describe(ch chan<- *prometheus.Desc) {
	ch <- endpointsDesc()
	ch <- staleDesc()
	ch <- checksDesc()
	for _, c := range versionCounters() {
		ch <- c.desc
	}
}

// Collect is part of prometheus.Collector.
func (s *versionState) Collect(ch chan<- prometheus.Metric) {
	if s.read == nil {
		return
	}
	endpoints, stale, checks, counters := endpointsDesc(), staleDesc(), checksDesc(), versionCounters()
	for _, v := range s.read() {
		for _, state := range s.states {
			ch <- prometheus.MustNewConstMetric(endpoints, prometheus.GaugeValue, float64(v.Endpoints[state]), v.Service, v.Tag, state)
		}
		isStale := 0.0
		if v.Stale {
			isStale = 1
		}
		ch <- prometheus.MustNewConstMetric(stale, prometheus.GaugeValue, isStale, v.Service, v.Tag)
		ch <- prometheus.MustNewConstMetric(checks, prometheus.CounterValue, float64(v.Passed), v.Service, v.Tag, "passed")
		ch <- prometheus.MustNewConstMetric(checks, prometheus.CounterValue, float64(v.Failed), v.Service, v.Tag, "failed")
		for _, c := range counters {
			ch <- prometheus.MustNewConstMetric(c.desc, prometheus.CounterValue, float64(c.of(&v)), v.Service, v.Tag)
		}
	}
}
