package outbound_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"graylane/pkg/outbound"
)

func TestATagThatThePolicyDoesNotNameIsCountedAsOtherAndLoggedAsItIs(t *testing.T) {
	base, gray := newOrigin(t, "base"), newOrigin(t, "gray")
	log := make(lines, 1)
	p := newPod(t, shop(base, gray), func(o *outbound.Outbound) { o.Metrics.AccessLog(slog.New(slog.NewTextHandler(log, nil))) })
	for tag, want := range map[string]string{
		"pr-142": " version=base tag=pr-142 source=header reason=no_version ",
		"pr-143": " version=base tag=pr-143 source=header reason=no_version ",
		"gray":   " version=gray tag=gray source=header reason=matched ",
	} {
		p.get(t, "http://users/", "X-Gray", tag)
		if got := <-log; !strings.Contains(got, want) {
			t.Errorf("the access log lacks %q: %s", want, got)
		}
	}
	page := httptest.NewRecorder()
	p.Metrics.Handler().ServeHTTP(page, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for _, want := range []string{
		`graylane_requests_total{class="2xx",direction="outbound",reason="no_version",service="users",tag="other"} 2`,
		`graylane_fallback_total{reason="no_version",service="users",tag="other"} 2`,
		`graylane_requests_total{class="2xx",direction="outbound",reason="matched",service="users",tag="gray"} 1`,
	} {
		if !strings.Contains(page.Body.String(), want+"\n") {
			t.Errorf("the metrics lack %s", want)
		}
	}
	if strings.Contains(page.Body.String(), "pr-142") {
		t.Error("a caller's tag is a label")
	}
}

// lines is a log that hands on each line: the request it tells of has been counted then.
type lines chan string

func (l lines) Write(line []byte) (int, error) {
	l <- string(line)
	return len(line), nil
}
