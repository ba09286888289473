package e2e

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"graylane/test/harness"
)

// newServer says in which protocol it was asked; it speaks HTTP/1, or h2c alone.
func newServer(t *testing.T, h2c bool) string {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Proto)
	}))
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetHTTP1(!h2c)
	s.Config.Protocols.SetUnencryptedHTTP2(h2c)
	s.Start()
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// A version moves from HTTP/1 to h2c one endpoint after the other: callers of HTTP/1
// notice nothing, whether the policy or a file lists the endpoints.
func TestEndpointsOfOneVersionSpeakDifferentProtocols(t *testing.T) {
	older, newer := newServer(t, false), newServer(t, true)
	dir := t.TempDir()
	p := harness.PolicyFile(filepath.Join(dir, "policy.yaml"))
	p.Write(t, fmt.Sprintf(`apiVersion: graylane.dev/v1
services:
  - name: listed
    health: {path: /, interval: 100ms}
    versions:
      - {tag: base, endpoints: [%q, {address: %q, protocol: h2c}]}
  - name: found
    versions:
      - {tag: base, protocol: h2c, file: endpoints.json}
`, older, newer))
	harness.PolicyFile(filepath.Join(dir, "endpoints.json")).Write(t,
		fmt.Sprintf(`[{"targets": [%q], "labels": {"protocol": "http1"}}, {"targets": [%q]}]`, older, newer))
	entry := harness.StartSidecar(t, "entry", string(p))
	entry.WaitReady(t)
	client := proxied(entry.Outbound)
	for _, service := range []string{"listed", "found"} {
		got := map[string]int{}
		for range 6 {
			resp, err := client.Post("http://"+service+"/", "text/plain", strings.NewReader("body"))
			harness.Must(t, err)
			body, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			harness.Must(t, err)
			got[fmt.Sprint(resp.StatusCode, " ", string(body))]++
		}
		if got["200 HTTP/1.1"] != 3 || got["200 HTTP/2.0"] != 3 {
			t.Errorf("%s: got %v, want each protocol for half of the requests", service, got)
		}
	}
	harness.WaitFor(t, "both are checked in their protocol", func() bool {
		_, page := harness.Page("http://" + entry.Admin + "/metrics")
		_, passed, _ := strings.Cut(page, `graylane_health_checks_total{outcome="passed",service="listed",tag="base"} `)
		var n int
		_, _ = fmt.Sscan(passed, &n)
		return n >= 6 // three each
	})
	if _, page := harness.Page("http://" + entry.Admin + "/endpoints"); strings.Count(page, " ok ") != 4 || strings.Count(page, " h2c ") != 2 {
		t.Errorf("/endpoints: got\n%s\nwant 4 that are ok, 2 of them h2c", page)
	}
}
