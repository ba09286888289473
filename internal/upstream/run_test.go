package upstream

import (
	"context"
	"encoding/binary"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"graylane/internal/http1"
	"graylane/test/harness"
)

// run runs the table until the test ends.
func run(t *testing.T, table *Table) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- table.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("running the table: %v", err)
		}
	})
}

// serve is a server of HTTP/1 and cleartext HTTP/2.
func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetHTTP1(true)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Start()
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

func TestAsk(t *testing.T) {
	ok := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/health" && r.Header.Get("X-Gray") == "blue" && r.UserAgent() == "graylane-health":
		case r.URL.Path == "/teapot":
			w.WriteHeader(http.StatusTeapot)
		case r.URL.Path == "/slow":
			<-r.Context().Done()
		case r.URL.Path == "/endless":
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 1<<10)); err != nil {
					return
				}
			}
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	})
	header := http.Header{"X-Gray": {"blue"}}
	for _, c := range []struct {
		name, address string
		check         Check
		want          string // in the error; "": none
	}{
		{"a path that answers 200", ok, Check{Path: "/health", Header: header}, ""},
		{"a path that answers 404", ok, Check{Path: "/nothing"}, "GET /nothing answered 404, want [200]"},
		{"a status that is expected", ok, Check{Path: "/teapot", Expect: []int{200, 418}}, ""},
		{"an answer that does not come", ok, Check{Path: "/slow", Timeout: 50 * time.Millisecond}, "deadline exceeded"},
		{"an answer that does not end", ok, Check{Path: "/endless"}, ""},
		{"HTTP where nobody listens", harness.FreeAddress(t), Check{Path: "/health"}, "refused"},
		{"TCP that is taken", ok, Check{Kind: CheckTCP}, ""},
		{"TCP where nobody listens", harness.FreeAddress(t), Check{Kind: CheckTCP}, "refused"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.check.Timeout == 0 {
				c.check.Timeout = 10 * time.Second
			}
			if c.check.Expect == nil {
				c.check.Expect = []int{200}
			}
			a := newAsker(nil)
			defer a.close()
			assertError(t, a.check(t.Context(), c.address, false, &c.check), c.want)
		})
	}
}

func assertError(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case err == nil && want != "":
		t.Errorf("got no error, want one with %q", want)
	case err != nil && (want == "" || !strings.Contains(err.Error(), want)):
		t.Errorf("got error %q, want %q", err, want)
	}
}

func TestAskGRPC(t *testing.T) {
	answer := func(status string, message []byte) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			wanted := "\x00\x00\x00\x00\x07\x0a\x05users"
			if r.ProtoMajor != 2 || r.URL.Path != "/grpc.health.v1.Health/Check" || string(body) != wanted ||
				r.Header.Get("Content-Type") != "application/grpc" || r.Header.Get("Te") != "trailers" {
				w.WriteHeader(http.StatusBadRequest)
				return
			}
			w.Header().Set("Content-Type", "application/grpc")
			w.Header().Set("Trailer", "Grpc-Status")
			if message != nil {
				frame := binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message)))
				if _, err := w.Write(append(frame, message...)); err != nil {
					t.Errorf("answering: %v", err)
				}
			}
			w.Header().Set("Grpc-Status", status)
		}
	}
	for _, c := range []struct {
		name    string
		handler http.HandlerFunc
		want    string
	}{
		{"serving", answer("0", []byte{8, 1}), ""},
		{"serving, with a field that is new to us", answer("0", []byte{8, 1, 16, 200, 1}), ""},
		{"not serving", answer("0", []byte{8, 2}), "status 2, want 1 (SERVING)"},
		{"unknown, which is not sent", answer("0", []byte{}), "status 0, want 1 (SERVING)"},
		{"an error", answer("12", nil), `grpc-status "12", want 200 with 0`},
		{"nothing", answer("0", nil), "no HealthCheckResponse"},
		{"something else", answer("0", []byte{10, 200}), "no HealthCheckResponse"},
		{"no gRPC", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) }, `404 with grpc-status ""`},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := newAsker(nil)
			defer a.close()
			check := Check{Kind: CheckGRPC, Service: "users", Timeout: 10 * time.Second}
			assertError(t, a.check(t.Context(), serve(t, c.handler), false, &check), c.want)
		})
	}
}

func TestRunTakesOutTheSickAndBringsThemBack(t *testing.T) {
	var sick atomic.Bool
	a := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		if sick.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	table := NewTable(http1.OriginConfig{})
	v := users("gray", a)
	v.Check = &Check{
		Path: "/", Expect: []int{200}, Interval: 5 * time.Millisecond, Timeout: 5 * time.Second,
		HealthyAfter: 2, UnhealthyAfter: 3,
	}
	next := table.Begin()
	g := next.Group(v)
	next.Commit()
	run(t, table)

	usable := func(n int) func() bool {
		return func() bool { _, usable := g.Counts(); return usable == n }
	}
	sick.Store(true)
	harness.WaitFor(t, "the sick endpoint is taken out", usable(0))
	if got := table.Status()[0]; got.State != StateOut || !strings.Contains(got.Why, "answered 503") {
		t.Errorf("got state %s since %q, want out since it answered 503", got.State, got.Why)
	}
	sick.Store(false)
	harness.WaitFor(t, "the healthy endpoint is brought back", usable(1))
}

func TestRunProbesWhatCouldNotBeConnectedTo(t *testing.T) {
	up := serve(t, func(http.ResponseWriter, *http.Request) {})
	table := NewTable(http1.OriginConfig{})
	table.breaking.probe = time.Millisecond
	down := harness.FreeAddress(t)
	next := table.Begin()
	g := next.Group(users("gray", up, down))
	next.Commit()
	run(t, table)

	for _, address := range []string{up, down} {
		g.roster.mu.Lock()
		ep := g.roster.endpoints[address]
		g.roster.mu.Unlock()
		ep.report(time.Now(), time.Now(), unreached, "refused")
	}
	want := map[string]string{up: StateOK, down: StateOut}
	r := rig{Table: table}
	harness.WaitFor(t, "probes settle both doubts", func() bool { return cmp.Equal(r.states(), want) })
}

func TestChecksAreSpread(t *testing.T) {
	r := newRig()
	v := users("base", addressesOf(200)...)
	v.Check = &Check{Interval: 10 * time.Second, Timeout: time.Second, HealthyAfter: 2, UnhealthyAfter: 3}
	r.put(v)
	asked := map[string][]float64{}
	for range 1200 { // two minutes
		jobs, next := r.due(r.clock)
		for _, job := range jobs {
			asked[job.ep.Address] = append(asked[job.ep.Address], r.clock.Sub(at(0)).Seconds())
			job.ep.checked(r.clock, job.check, nil)
		}
		if len(jobs) > 60 {
			t.Errorf("at %v there are %d checks at once", r.clock.Sub(at(0)), len(jobs))
		}
		if next.Before(r.clock) {
			t.Fatalf("something is due at %v, which was before", next.Sub(at(0)))
		}
		r.pass(100 * time.Millisecond)
	}
	for address, times := range asked {
		if times[0] > 1.1 {
			t.Errorf("%s is first checked after %v s, want within 1 s", address, times[0])
		}
		for i := 1; i < len(times); i++ {
			if apart := times[i] - times[i-1]; apart < 8.9 || apart > 11.2 {
				t.Errorf("%s is checked %v s after the check before, want 9 to 11", address, apart)
			}
		}
	}
	if len(asked) != 200 {
		t.Errorf("got %d endpoints checked, want 200", len(asked))
	}
}

func TestEndpointsWithoutAPortAreNotAsked(t *testing.T) {
	r := newRig()
	v := users("gray", "users-gray")
	v.Check = &Check{Interval: time.Second, Timeout: time.Second, HealthyAfter: 2, UnhealthyAfter: 3}
	g := r.put(v)[0]
	r.endpoint(t, g, "users-gray").report(r.clock, r.clock, unreached, "refused")
	r.pass(time.Minute)
	if jobs, _ := r.due(r.clock); len(jobs) != 0 {
		t.Errorf("got %d questions, want none", len(jobs))
	}
}
