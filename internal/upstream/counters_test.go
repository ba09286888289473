package upstream

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"graylane/internal/metrics"
)

func TestAnEndpointThatCannotBeReachedCastsDoubtOnItsSource(t *testing.T) {
	r := newRig()
	g := r.put(users("base", "a:1"))[0]
	doubts := 0
	g.OnDoubt(func() { doubts++ })
	for _, result := range []any{200, 503, errClosed, errRefused} {
		r.count(g, 1, func(string) any { return result })
	}
	if doubts != 1 {
		t.Errorf("got %d doubts, want one, for the endpoint that could not be connected to", doubts)
	}
	pick := g.Pick(0)
	pick.Next(r.clock)
	if pick.End(Result{Now: r.clock, Status: 200, Leaving: true}); doubts != 2 {
		t.Errorf("got %d doubts, want another, for the endpoint that is about to end", doubts)
	}
	g.Set(nil)
	if g.Counts(); doubts != 3 {
		t.Errorf("got %d doubts, want another, for the request that there is no endpoint for", doubts)
	}
}

// Else a sidecar that had no request while pods were replaced meets none but dead ones with the first.
func TestAFailedCheckCastsDoubtOnTheSource(t *testing.T) {
	r := newRig()
	v := users("base", "a:1")
	v.Check = &Check{HealthyAfter: 1, UnhealthyAfter: 2}
	g := r.put(v)[0]
	doubts, a := 0, r.endpoint(t, g, "a:1")
	g.OnDoubt(func() { doubts++ })
	a.next.check = r.clock
	for i, c := range []struct {
		err  error
		want int
	}{{nil, 0}, {errAny, 1}, {errAny, 2}, {errAny, 2}, {nil, 2}, {errAny, 3}} {
		if a.checked(r.clock, v.Check, c.err); doubts != c.want {
			t.Errorf("check %d: got %d doubts, want %d: one for each that fails, until it is out", i, doubts, c.want)
		}
	}
}

func TestVersionsAreCounted(t *testing.T) {
	r := newRig()
	v := users("gray", "a:1", "b:1", "c:1")
	v.Check = &Check{HealthyAfter: 1, UnhealthyAfter: 1}
	v.Limit.Requests = 1
	v.Targets[2].Weight = 0
	g := r.put(v)[0]
	for range 2 * retryFloor {
		r.walk(g)
	}
	one, two, three := g.Pick(0), g.Pick(0), g.Pick(0)
	one.Next(r.clock)
	two.Next(r.clock)
	three.Next(r.clock)
	a := r.endpoint(t, g, "a:1")
	a.next.check = r.clock
	a.checked(r.clock, v.Check, errAny)
	a.checked(r.clock, v.Check, nil)
	r.fail(t, g, "b:1")
	r.fail(t, g, "b:1") // it is out already
	g.Stale(errAny)

	got := r.Versions()
	want := []metrics.Version{{
		Service: "users", Tag: "gray", Endpoints: map[string]int{StateWarming: 1, StateOut: 1, StateIdle: 1}, Stale: true,
		Overloaded: 1, Ejections: 2, Passed: 1, Failed: 1,
	}}
	want[0].Retries, want[0].Denied = got[0].Retries, got[0].Denied
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("versions differ (-got +want):\n%s", diff)
	}
	// Each of the requests wants one retry: b after a, or a after b.
	if got[0].Retries+got[0].Denied != 2*retryFloor || got[0].Denied == 0 {
		t.Errorf("got %d retries and %d denied, want %d together", got[0].Retries, got[0].Denied, 2*retryFloor)
	}
}
