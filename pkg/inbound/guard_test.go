package inbound_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"graylane/internal/http1"
	"graylane/internal/upstream"
	"graylane/pkg/inbound"
	"graylane/pkg/policy"
)

// guarded makes a gray pod of users, whose guard is action, and the base pod beside
// it, which says what it was asked.
func guarded(t *testing.T, action string) (gray *pod, base *[]http.Header) {
	t.Helper()
	base = new([]http.Header)
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { *base = append(*base, r.Header.Clone()) }))
	t.Cleanup(other.Close)
	gray = newPod(t, "", func(in *inbound.Inbound) { in.Marks.Tag = "gray" })
	compiled, err := policy.Parse("policy.yaml", fmt.Appendf(nil, `
apiVersion: graylane.dev/v1
services:
  - name: users
    hosts: [users]
    guard: %s
    guardExcept: {paths: [/health]}
    versions: [{tag: base, endpoints: [%q]}, {tag: blue, endpoints: ["127.0.0.1:1", "127.0.0.1:2"]}, {tag: gray, endpoints: ["127.0.0.1:1"]}]
`, action, other.Listener.Addr()))
	if err != nil {
		t.Fatal(err)
	}
	next := upstream.NewTable(http1.OriginConfig{}).Begin()
	compiled.Bind(func(v *policy.Version) policy.Backend {
		version := upstream.Version{Service: v.Service.Name, Tag: v.Tag, Base: v.Tag == policy.Base, Retries: v.Service.Retries}
		for _, target := range v.Endpoints {
			version.Targets = append(version.Targets, upstream.Target(target))
		}
		return next.Group(version)
	})
	gray.Store.Replace(compiled)
	next.Commit()
	return gray, base
}

func (p *pod) metrics(t *testing.T) string {
	t.Helper()
	page := httptest.NewRecorder()
	p.Metrics.Handler().ServeHTTP(page, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	text, err := io.ReadAll(page.Result().Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestGuard(t *testing.T) {
	for _, c := range []struct {
		name, action string
		headers      []string
		status       int
		reason       string
		app          bool // our app got it
		base         int  // times that base got it
		leaks        bool
	}{
		{"a gray request is none of its business", "reject", []string{"X-Gray", "gray"}, 200, "", true, 0, false},
		{"observe passes a base request", "observe", nil, 200, "", true, 0, true},
		{"reject refuses it", "reject", nil, 421, "leaked", false, 0, true},
		{"redirect sends it to base", "redirect", nil, 200, "", false, 1, true},
		{"another tag goes where it falls back to", "redirect", []string{"X-Gray", "green"}, 200, "", false, 1, true},
		{"and so where nobody of its version is there", "redirect", []string{"X-Gray", "blue"}, 200, "", false, 1, true},
		{"what was sent on once is not sent on again", "redirect", []string{"X-Graylane-Guarded", "1"}, 421, "leaked", false, 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			gray, base := guarded(t, c.action)
			status, reason := gray.call(t, c.headers...)
			if status != c.status || reason != c.reason {
				t.Errorf("got %d %q, want %d %q", status, reason, c.status, c.reason)
			}
			if got := gray.seen != nil; got != c.app {
				t.Errorf("our app got it: %v, want %v", got, c.app)
			}
			if got := len(*base); got != c.base {
				t.Errorf("base got it %d times, want %d", got, c.base)
			}
			counted := strings.Contains(gray.metrics(t), fmt.Sprintf(`graylane_leak_total{action=%q,service="users"`, c.action))
			if counted != c.leaks {
				t.Errorf("counted as a leak: %v, want %v", counted, c.leaks)
			}
		})
	}
}

func TestGuardTellsTheRightVersionWhoseTheRequestIs(t *testing.T) {
	gray, base := guarded(t, "redirect")
	gray.call(t, "X-Gray", "green", "Traceparent", parent)
	if len(*base) != 1 {
		t.Fatalf("base got it %d times, want once", len(*base))
	}
	for name, want := range map[string]string{"X-Gray": "green", "Traceparent": parent, "X-Graylane-Guarded": "1"} {
		if got := (*base)[0].Get(name); got != want {
			t.Errorf("%s at base: got %q, want %q", name, got, want)
		}
	}
}

func TestGuardMindsThePortsOfTheServiceAlone(t *testing.T) {
	gray, _ := guarded(t, "reject")
	service := gray.Store.Load().ServiceNamed("users")
	_, port, err := net.SplitHostPort(service.Versions[0].Endpoints[0].Address)
	if err != nil {
		t.Fatal(err)
	}
	for dst, want := range map[string]int{"10.0.0.1:" + port: 421, "10.0.0.1:9090": 200} {
		gray.url = serveTo(t, gray, netip.MustParseAddrPort(dst))
		if status, _ := gray.call(t); status != want {
			t.Errorf("a base request on its way to %s: got %d, want %d", dst, status, want)
		}
	}
}

func TestGuardRestsWhileOff(t *testing.T) {
	p := newPod(t, strings.Replace(off, "name: users,", "name: users, guard: reject,", 1), func(in *inbound.Inbound) { in.Marks.Tag = "gray" })
	if status, _ := p.call(t); status != 200 {
		t.Errorf("got %d, want 200", status)
	}
}

func TestOurHeadersDoNotReachTheApp(t *testing.T) {
	p := newPod(t, trusting)
	p.call(t, "X-Graylane-Guarded", "1", "X-Graylane-Hops", "3", "X_Graylane_Hops", "3")
	for name := range p.seen {
		if strings.HasPrefix(strings.ToLower(strings.ReplaceAll(name, "_", "-")), "x-graylane-") {
			t.Errorf("the app got %s", name)
		}
	}
}

func TestProbesAreNeitherDecidedNorCounted(t *testing.T) {
	p := newPod(t, trusting)
	if status, _ := p.call(t, "User-Agent", "kube-probe/1.34", "X-Gray", "gray", "Baggage", "a=1,x-gray=gray", "X-User-Id", "7"); status != 200 {
		t.Errorf("got %d, want 200", status)
	}
	for name, want := range map[string]string{"X-Gray": "", "Baggage": "a=1", "Traceparent": "", "User-Agent": "kube-probe/1.34"} {
		if got := p.seen.Get(name); got != want {
			t.Errorf("%s at the app: got %q, want %q", name, got, want)
		}
	}
	if strings.Contains(p.metrics(t), "graylane_requests_total{") {
		t.Error("a probe was counted")
	}
}

func TestTheNameAloneMakesNoProbe(t *testing.T) {
	for _, c := range []struct {
		name, method, path, body string
		counted                  bool
	}{
		{"a probe", "GET", "/health", "", false},
		{"a probe of gRPC", "POST", "/grpc.health.v1.Health/Check", "x", false},
		{"a GET with a body", "GET", "/health", "x", true},
		{"a POST", "POST", "/pay", "", true},
		{"a DELETE", "DELETE", "/users/1", "", true},
	} {
		p := newPod(t, trusting)
		req, err := http.NewRequestWithContext(t.Context(), c.method, p.url+c.path, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("User-Agent", "kube-probe/1.34")
		p.do(t, req)
		if got := strings.Contains(p.metrics(t), "graylane_requests_total{"); got != c.counted {
			t.Errorf("%s: counted: %v, want %v", c.name, got, c.counted)
		}
	}
}

func TestTheNameOfAProbeOpensNoTrace(t *testing.T) {
	p := newPod(t, trusting)
	p.call(t, "X-Gray", "gray", "Traceparent", parent)
	p.call(t, "User-Agent", "kube-probe/1.34", "Traceparent", parent)
	if got := p.Marks.Ledger.Conflicts(); got != 1 {
		t.Errorf("got %d conflicts, want 1: the app's calls under this trace must not be gray any more", got)
	}
}
