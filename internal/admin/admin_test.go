package admin_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"graylane/internal/admin"
	"graylane/internal/http1"
	"graylane/internal/metrics"
	"graylane/internal/upstream"
	"graylane/pkg/policy"
)

func TestTheIndexListsEveryPath(t *testing.T) {
	h := admin.New(options())
	reply := get(t, h, "/")
	if reply.Code != 200 || !strings.HasPrefix(reply.Body.String(), "graylane sidecar v1\n") {
		t.Fatalf("got %d %q, want 200 and the version", reply.Code, reply.Body)
	}
	for _, path := range []string{"/policy", "/endpoints", "/metrics", "/ready", "/drain", "/debug/pprof/"} {
		if !strings.Contains(reply.Body.String(), "  "+path+" ") {
			t.Errorf("the index lacks %s:\n%s", path, reply.Body)
		}
	}
}

func TestUnknownPathsAreOneLineThatNamesTheIndex(t *testing.T) {
	reply := get(t, admin.New(options()), "/config_dump")
	if want := "not found: / lists what there is\n"; reply.Code != 404 || reply.Body.String() != want {
		t.Errorf("got %d %q, want 404 %q", reply.Code, reply.Body, want)
	}
}

func TestProfilesAreServed(t *testing.T) {
	h := admin.New(options())
	for _, path := range []string{"/debug/pprof/", "/debug/pprof/goroutine?debug=1", "/debug/pprof/cmdline", "/debug/pprof/symbol"} {
		if got := get(t, h, path).Code; got != 200 {
			t.Errorf("GET %s: got %d, want 200", path, got)
		}
	}
}

func TestOnlyAPostDrains(t *testing.T) {
	o := options()
	drains := 0
	o.Drain = func() { drains++ }
	h := admin.New(o)

	reply := get(t, h, "/drain")
	if reply.Code != 405 || reply.Header().Get("Allow") != http.MethodPost || drains != 0 {
		t.Errorf("GET: got %d, Allow %q, %d drains, want 405, POST, none", reply.Code, reply.Header().Get("Allow"), drains)
	}
	reply = do(t, h, http.MethodPost, "http://127.0.0.1:15000/drain")
	if reply.Code != 200 || reply.Body.String() != "draining\n" || drains != 1 {
		t.Errorf("POST: got %d %q, %d drains, want 200 draining, 1", reply.Code, reply.Body, drains)
	}
}

func TestPagesOfOtherOriginsCannotReachIt(t *testing.T) {
	tests := []struct {
		name, method, host string
		header             http.Header
		want               int
	}{
		{"curl by address", http.MethodGet, "127.0.0.1:15000", nil, 200},
		{"curl by another loopback address", http.MethodGet, "127.0.0.2", nil, 200},
		{"curl by IPv6", http.MethodGet, "[::1]:15000", nil, 200},
		{"curl by IPv6 without port", http.MethodGet, "[::1]", nil, 200},
		{"a developer behind port-forward", http.MethodGet, "localhost:15000", nil, 200},
		{"HTTP/1.0 without Host", http.MethodGet, "", nil, 200},
		{"a name that resolves to loopback", http.MethodGet, "rebind.example:15000", nil, 403},
		{"a name that begins like loopback", http.MethodGet, "127.0.0.1.example", nil, 403},
		{"the pod's address", http.MethodGet, "10.1.2.3:15000", nil, 403},
		{"a POST under a foreign name", http.MethodPost, "rebind.example:15000", nil, 403},
		{"a form on a page elsewhere", http.MethodPost, "localhost:15000", http.Header{"Origin": {"https://evil.example"}}, 403},
		{"a page elsewhere, as browsers tell", http.MethodPost, "localhost:15000", http.Header{"Sec-Fetch-Site": {"cross-site"}}, 403},
		{"a POST by curl", http.MethodPost, "localhost:15000", nil, 200},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path := map[string]string{http.MethodGet: "/policy", http.MethodPost: "/drain"}[test.method]
			req := httptest.NewRequest(test.method, path, nil)
			req.Host = test.host
			for name, values := range test.header {
				req.Header[name] = values
			}
			reply := httptest.NewRecorder()
			admin.New(options()).ServeHTTP(reply, req)
			if reply.Code != test.want {
				t.Errorf("got %d, want %d", reply.Code, test.want)
			}
		})
	}
}

func options() admin.Options {
	return admin.Options{
		Store:     new(policy.Store),
		Reloads:   new(admin.Reloads),
		Table:     upstream.NewTable(http1.OriginConfig{}),
		Metrics:   metrics.New("v1"),
		Readiness: admin.NewReadiness(),
		Drain:     func() {},
		Version:   "v1",
		Log:       slog.New(slog.DiscardHandler),
	}
}

func get(t *testing.T, h http.Handler, path string) *httptest.ResponseRecorder {
	t.Helper()
	return do(t, h, http.MethodGet, "http://localhost"+path)
}

func do(t *testing.T, h http.Handler, method, url string) *httptest.ResponseRecorder {
	t.Helper()
	reply := httptest.NewRecorder()
	h.ServeHTTP(reply, httptest.NewRequest(method, url, nil))
	return reply
}
