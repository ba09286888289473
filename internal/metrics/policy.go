package metrics

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	reloadOK  = "ok"
	reloadBad = "bad"
)

// policyState is a collector of its own, since digest and validity must change
// together: a gauge vector would show two digests, or none, to a scrape between
// two calls.
type policyState struct {
	mu     sync.Mutex
	digest string // "" before the first good policy
	valid  bool
}

// Policy says that the policy with this digest is in force from now on:
// graylane_policy_info shows it alone, graylane_policy_valid is 1, and one reload
// more went well.
func (m *Metrics) Policy(digest string) {
	m.policy.mu.Lock()
	m.policy.digest, m.policy.valid = digest, true
	m.policy.mu.Unlock()
	m.reloads.WithLabelValues(reloadOK).Inc()
}

// BadPolicy says that new contents of the policy file were refused. The policy
// before them stays in force, so graylane_policy_info stays; graylane_policy_valid
// is 0 until the file is good again.
func (m *Metrics) BadPolicy() {
	m.policy.mu.Lock()
	m.policy.valid = false
	m.policy.mu.Unlock()
	m.reloads.WithLabelValues(reloadBad).Inc()
}

func policyInfoDesc() *prometheus.Desc {
	return prometheus.NewDesc("graylane_policy_info",
		"1, for the digest of the policy in force; absent before the first good one.", []string{"digest"}, nil)
}

func policyValidDesc() *prometheus.Desc {
	return prometheus.NewDesc("graylane_policy_valid",
		"1 if the policy file as it is now is in force, 0 if it is bad or was never read.", nil, nil)
}

// Describe is part of prometheus.Collector.
func (s *policyState) Describe(ch chan<- *prometheus.Desc) {
	ch <- policyInfoDesc()
	ch <- policyValidDesc()
}

// Collect is part of prometheus.Collector.
func (s *policyState) Collect(ch chan<- prometheus.Metric) {
	s.mu.Lock()
	digest, valid := s.digest, 0.0
	if s.valid {
		valid = 1
	}
	s.mu.Unlock()

	ch <- prometheus.MustNewConstMetric(policyValidDesc(), prometheus.GaugeValue, valid)
	if digest != "" {
		ch <- prometheus.MustNewConstMetric(policyInfoDesc(), prometheus.GaugeValue, 1, digest)
	}
}
