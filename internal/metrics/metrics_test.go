package metrics_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"graylane/internal/metrics"
)

func TestARequestIsCountedUnderItsLabels(t *testing.T) {
	m := metrics.New("v1")
	m.Request(metrics.Outbound, "users", "gray", "matched", 204, 30*time.Millisecond)
	m.Request(metrics.Outbound, "users", "gray", "matched", 200, 2*time.Minute)
	m.Request(metrics.Inbound, "users", "base", "local", 0, time.Millisecond)
	m.TagSource(metrics.Inbound, "header")
	m.Fallback("users", "blue", "no_version")

	page := scrape(t, m)
	for _, want := range []string{
		`graylane_requests_total{class="2xx",direction="outbound",reason="matched",service="users",tag="gray"} 2`,
		`graylane_requests_total{class="none",direction="inbound",reason="local",service="users",tag="base"} 1`,
		`graylane_request_duration_seconds_bucket{direction="outbound",service="users",le="0.025"} 0`,
		`graylane_request_duration_seconds_bucket{direction="outbound",service="users",le="0.05"} 1`,
		`graylane_request_duration_seconds_bucket{direction="outbound",service="users",le="60"} 1`,
		`graylane_request_duration_seconds_count{direction="outbound",service="users"} 2`,
		`graylane_tag_source_total{direction="inbound",source="header"} 1`,
		`graylane_fallback_total{reason="no_version",service="users",tag="blue"} 1`,
		`go_goroutines `,
		`process_open_fds `,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	if !strings.Contains(page, `graylane_build_info{goversion="go1.`) || !strings.Contains(page, `version="v1"} 1`) {
		t.Errorf("the page does not tell the versions")
	}
}

func TestThePolicyInForceIsShownAlone(t *testing.T) {
	tests := []struct {
		name       string
		happens    func(*metrics.Metrics)
		want, lack []string
	}{
		{
			"before the first policy nothing is valid",
			func(*metrics.Metrics) {},
			[]string{"graylane_policy_valid 0", `graylane_policy_reloads_total{result="ok"} 0`, `graylane_policy_reloads_total{result="bad"} 0`},
			[]string{"graylane_policy_info{"},
		},
		{
			"a good policy",
			func(m *metrics.Metrics) { m.Policy("aaa") },
			[]string{"graylane_policy_valid 1", `graylane_policy_info{digest="aaa"} 1`, `graylane_policy_reloads_total{result="ok"} 1`},
			nil,
		},
		{
			"the next takes its place",
			func(m *metrics.Metrics) { m.Policy("aaa"); m.Policy("bbb") },
			[]string{"graylane_policy_valid 1", `graylane_policy_info{digest="bbb"} 1`, `graylane_policy_reloads_total{result="ok"} 2`},
			[]string{`digest="aaa"`},
		},
		{
			"a bad one leaves the last good one in force",
			func(m *metrics.Metrics) { m.Policy("aaa"); m.BadPolicy() },
			[]string{"graylane_policy_valid 0", `graylane_policy_info{digest="aaa"} 1`, `graylane_policy_reloads_total{result="bad"} 1`},
			nil,
		},
		{
			"the file is good again",
			func(m *metrics.Metrics) { m.Policy("aaa"); m.BadPolicy(); m.Policy("aaa") },
			[]string{"graylane_policy_valid 1", `graylane_policy_info{digest="aaa"} 1`},
			nil,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m := metrics.New("v1")
			test.happens(m)
			page := scrape(t, m)
			for _, want := range test.want {
				if !strings.Contains(page, want+"\n") {
					t.Errorf("the page lacks %s", want)
				}
			}
			for _, lack := range test.lack {
				if strings.Contains(page, lack) {
					t.Errorf("the page has %s", lack)
				}
			}
		})
	}
}

func TestAFuncIsReadAtEachScrape(t *testing.T) {
	m := metrics.New("v1")
	var conflicts, size float64
	m.Func("graylane_ledger_conflicts_total", "Conflicts.", true, func() float64 { return conflicts })
	m.Func("graylane_ledger_traces", "Traces.", false, func() float64 { return size })
	conflicts, size = 3, 5

	page := scrape(t, m)
	for _, want := range []string{
		"# TYPE graylane_ledger_conflicts_total counter\ngraylane_ledger_conflicts_total 3\n",
		"# TYPE graylane_ledger_traces gauge\ngraylane_ledger_traces 5\n",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

func TestTwoSidecarsInOneProcessDoNotMeet(t *testing.T) {
	one, two := metrics.New("v1"), metrics.New("v2")
	one.TagSource(metrics.Inbound, "header")

	if page := scrape(t, two); strings.Contains(page, "graylane_tag_source_total{") {
		t.Errorf("what the one counted shows at the other")
	}
}

func TestCountsFromManyGoroutinesAddUp(t *testing.T) {
	const workers, each = 8, 500
	m := metrics.New("v1")
	services := []string{"a", "b", "c", "d", "e"}
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for i := range each {
				m.Request(metrics.Outbound, services[i%len(services)], "base", "matched", 200, 0)
			}
		})
	}
	wg.Wait()

	page := scrape(t, m)
	for _, service := range services {
		want := `service="` + service + `",tag="base"} 800`
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
}

func TestCountingAllocatesNothing(t *testing.T) {
	m := metrics.New("v1")
	count := func() {
		m.Request(metrics.Outbound, "users", "gray", "matched", 200, time.Millisecond)
		m.TagSource(metrics.Outbound, "ledger")
		m.Fallback("users", "gray", "none_healthy")
	}
	count() // the first of its kind may allocate
	if got := testing.AllocsPerRun(1000, count); got != 0 {
		t.Errorf("got %v allocations per request, want 0", got)
	}
}

func TestClass(t *testing.T) {
	for status, want := range map[int]string{
		0: "none", 99: "none", 101: "1xx", 200: "2xx", 302: "3xx", 421: "4xx", 503: "5xx", 599: "5xx", 600: "none", -200: "none",
	} {
		if got := metrics.Class(status); got != want {
			t.Errorf("status %d: got %s, want %s", status, got, want)
		}
	}
}

func scrape(t *testing.T, m *metrics.Metrics) string {
	t.Helper()
	reply := httptest.NewRecorder()
	m.Handler().ServeHTTP(reply, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if reply.Code != http.StatusOK {
		t.Fatalf("got status %d, want 200: %s", reply.Code, reply.Body)
	}
	page, err := io.ReadAll(reply.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}
