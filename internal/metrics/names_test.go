package metrics_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"graylane/internal/metrics"
)

// use counts something of a service in every series that names one.
func use(m *metrics.Metrics, service, tag string) {
	m.Request(metrics.Outbound, service, tag, "matched", 200, time.Millisecond)
	m.Fallback(service, tag, "no_endpoint")
	m.Leak(service, tag, "observe")
}

func TestSeriesGoWhenNeitherThisPolicyNorTheOneBeforeHasTheirNames(t *testing.T) {
	m := metrics.New("test")
	lines := func(label string) int { return strings.Count(scrape(t, m), label) }
	want := func(label string, there bool) {
		t.Helper()
		if got := lines(label) > 0; got != there {
			t.Errorf("a series with %s is there: %v, want %v", label, got, there)
		}
	}
	both, tags := []string{"users", "orders"}, []string{"base", "gray", "blue"}
	m.Names(both, tags)
	use(m, "users", "gray")
	use(m, "orders", "base")
	use(m, "orders", "blue")
	use(m, "orders", metrics.Other)
	use(m, "", "")
	began := lines(`service="orders"`)

	m.Names([]string{"users"}, tags)
	want(`service="orders"`, true) // a scrape has yet to see how it ended
	m.Names(both, tags)            // taken back
	if got := lines(`service="orders"`); got != began {
		t.Errorf("%d lines of a service that came back, want all %d", got, began)
	}

	m.Names([]string{"users"}, tags)
	m.Names([]string{"users"}, []string{"base", "gray"})
	want(`service="orders"`, false)
	want(`service="users"`, true)
	want(`service=""`, true)

	use(m, "users", "blue")
	use(m, "users", metrics.Other)
	m.Names([]string{"users"}, []string{"base", "gray"})
	want(`tag="blue"`, false)
	want(`tag="other"`, true)
	want(`graylane_request_duration_seconds_count{direction="outbound",service="users"} 3`, true)

	m.Names(both, tags)
	use(m, "orders", "base")
	want(`graylane_requests_total{class="2xx",direction="outbound",reason="matched",service="orders",tag="base"} 1`, true)
	want(`graylane_request_duration_seconds_count{direction="outbound",service="orders"} 1`, true)
}

// A sidecar that lives through many policies, each with names of its own, must not grow.
func TestNamesThatComeAndGoLeaveNothing(t *testing.T) {
	m := metrics.New("test")
	var requests sync.WaitGroup
	for n := range 100 {
		service, tag := fmt.Sprintf("shop-%d", n), fmt.Sprintf("pr-%d", n)
		m.Names([]string{service}, []string{"base", tag})
		requests.Go(func() { use(m, service, tag) }) // meets later changes
	}
	requests.Wait()
	m.Names(nil, nil)
	m.Names(nil, nil)
	if page := scrape(t, m); strings.Contains(page, "shop-") || strings.Contains(page, "pr-") {
		t.Errorf("the page still has names of policies that are gone: %s", page)
	}
}
