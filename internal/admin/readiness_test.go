package admin_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"graylane/internal/admin"
	"graylane/internal/metrics"
)

func TestReadinessTellsWhatIsPending(t *testing.T) {
	tests := []struct {
		name    string
		happens func(*admin.Readiness)
		status  int
		body    string
	}{
		{"everything is pending at first", func(*admin.Readiness) {}, 503, "listeners\npolicy\n"},
		{"one is done", func(r *admin.Readiness) { r.Done("listeners") }, 503, "policy\n"},
		{"the order is that of the tasks", func(r *admin.Readiness) { r.Done("policy") }, 503, "listeners\n"},
		{"all are done", func(r *admin.Readiness) { r.Done("policy"); r.Done("listeners"); r.Done("policy") }, 200, "ok\n"},
		{"draining", func(r *admin.Readiness) { r.Done("policy"); r.Done("listeners"); r.Drain() }, 503, "draining\n"},
		{"draining is for good", func(r *admin.Readiness) { r.Drain(); r.Drain(); r.Done("policy"); r.Done("listeners") }, 503, "draining\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := admin.NewReadiness("listeners", "policy")
			test.happens(r)
			reply := get(t, admin.NewHealth(r, metrics.New("v1")), "/ready")
			if reply.Code != test.status || reply.Body.String() != test.body {
				t.Errorf("got %d %q, want %d %q", reply.Code, reply.Body, test.status, test.body)
			}
		})
	}
}

func TestAMisspeltTaskIsNoticed(t *testing.T) {
	defer func() {
		if got, want := fmt.Sprint(recover()), `readiness has no task "polcy"`; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}()
	admin.NewReadiness("policy").Done("polcy")
}

func TestReadinessFromManyGoroutines(t *testing.T) {
	tasks := []string{"a", "b", "c", "d"}
	r := admin.NewReadiness(tasks...)
	var wg sync.WaitGroup
	for _, task := range tasks {
		wg.Go(func() {
			for range 100 {
				r.Pending()
				r.Done(task)
			}
		})
	}
	wg.Wait()
	if diff := cmp.Diff(r.Pending(), []string(nil)); diff != "" {
		t.Errorf("pending (got -, want +):\n%s", diff)
	}
}

func TestHealthServesThreePathsAndNothingElse(t *testing.T) {
	h := admin.NewHealth(admin.NewReadiness("policy"), metrics.New("v1"))
	for path, want := range map[string]int{
		"/live": 200, "/metrics": 200, "/ready": 503,
		"/": 404, "/policy": 404, "/endpoints": 404, "/drain": 404, "/debug/pprof/": 404, "/live/x": 404,
	} {
		if got := get(t, h, path).Code; got != want {
			t.Errorf("GET %s: got %d, want %d", path, got, want)
		}
	}
	reply := do(t, h, http.MethodPost, "http://10.1.2.3:15021/live")
	if reply.Code != 405 || reply.Header().Get("Allow") != "GET, HEAD" {
		t.Errorf("POST /live: got %d, Allow %q, want 405, GET, HEAD", reply.Code, reply.Header().Get("Allow"))
	}
}

func TestHealthAnswersUnderAnyHost(t *testing.T) {
	h := admin.NewHealth(admin.NewReadiness(), metrics.New("v1"))
	if got := do(t, h, http.MethodGet, "http://10.1.2.3:15021/ready").Code; got != 200 {
		t.Errorf("got %d, want 200: the kubelet asks by the pod's address", got)
	}
}
