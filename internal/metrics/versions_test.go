package metrics_test

import (
	"strings"
	"testing"

	"graylane/internal/metrics"
)

func TestVersionsAreReadAtEachScrape(t *testing.T) {
	m := metrics.New("v1")
	if page := scrape(t, m); strings.Contains(page, "graylane_endpoints{") {
		t.Error("without versions the page has endpoints")
	}
	v := metrics.Version{
		Service: "users", Tag: "gray", Endpoints: map[string]int{"ok": 2}, Stale: true,
		Retries: 3, Denied: 4, Overloaded: 5, Ejections: 6, Passed: 7, Failed: 8,
	}
	m.Versions([]string{"ok", "out"}, func() []metrics.Version { return []metrics.Version{v} })
	page := scrape(t, m)
	for _, want := range []string{
		`graylane_endpoints{service="users",state="ok",tag="gray"} 2`,
		`graylane_endpoints{service="users",state="out",tag="gray"} 0`,
		`graylane_endpoints_stale{service="users",tag="gray"} 1`,
		`graylane_retries_total{service="users",tag="gray"} 3`,
		`graylane_retries_denied_total{service="users",tag="gray"} 4`,
		`graylane_overloaded_total{service="users",tag="gray"} 5`,
		`graylane_ejections_total{service="users",tag="gray"} 6`,
		`graylane_health_checks_total{outcome="passed",service="users",tag="gray"} 7`,
		`graylane_health_checks_total{outcome="failed",service="users",tag="gray"} 8`,
	} {
		if !strings.Contains(page, want+"\n") {
			t.Errorf("the page lacks %s", want)
		}
	}
	v = metrics.Version{Service: "orders", Tag: "base"}
	page = scrape(t, m)
	if strings.Contains(page, `service="users"`) || !strings.Contains(page, `graylane_endpoints_stale{service="orders",tag="base"} 0`) {
		t.Error("the page shows another version than there is")
	}
}
