package metrics

import "github.com/prometheus/client_golang/prometheus"

// names are what policies call their services and tags, and what always counts.
type names struct{ services, tags map[string]bool }

func newNames(services, tags []string) names {
	n := names{map[string]bool{"": true}, map[string]bool{"": true, Other: true}}
	for _, service := range services {
		n.services[service] = true
	}
	for _, tag := range tags {
		n.tags[tag] = true
	}
	return n
}

// lack reports whether a series with these labels is of nobody.
func (n names) lack(service, tag string) bool { return !n.services[service] || !n.tags[tag] }

// either has what one of both has.
func either(a, b names) names {
	n := newNames(nil, nil)
	for _, from := range []names{a, b} {
		for service := range from.services {
			n.services[service] = true
		}
		for tag := range from.tags {
			n.tags[tag] = true
		}
	}
	return n
}

// Names says which services and tags there are under the policy that is in force
// from now on. The series of all others are dropped, so that a sidecar which sees
// names come and go does not grow; but for those of the policy before, so that a
// scrape sees how they ended, and a change that is taken back costs nothing.
//
// A request that is under way meanwhile may bring a series back, until the next
// call. It is called by one goroutine at a time.
func (m *Metrics) Names(services, tags []string) {
	now := newNames(services, tags)
	known := either(now, m.names)
	m.names = now

	m.requests.drop(func(k requestKey) bool { return known.lack(k.service, k.tag) }, func(k requestKey) {
		m.vectors.requests.DeleteLabelValues(k.direction.String(), k.service, k.tag, k.reason, k.class)
		if !known.services[k.service] { // then nothing else counts there
			m.vectors.durations.DeleteLabelValues(k.direction.String(), k.service)
		}
	})
	m.fallbacks.drop(func(k fallbackKey) bool { return known.lack(k.service, k.tag) }, func(k fallbackKey) {
		m.vectors.fallbacks.DeleteLabelValues(k.service, k.tag, k.reason)
	})
	m.leaks.drop(func(k leakKey) bool { return known.lack(k.service, k.tag) }, func(k leakKey) {
		m.vectors.leaks.DeleteLabelValues(k.service, k.tag, k.action)
	})
}

// vectors are those whose series come and go.
type vectors struct {
	requests, fallbacks, leaks *prometheus.CounterVec
	durations                  *prometheus.HistogramVec
}
