package upstream

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// walk returns the endpoints that one request tries if none can be reached.
func (r *rig) walk(g *Group) []string {
	pick := g.Pick(1)
	var got []string
	for ep := pick.Next(r.clock); ep != nil; ep = pick.Next(r.clock) {
		got = append(got, ep.Address)
		pick.End(Result{Now: r.clock, Err: errGone})
	}
	return got
}

func TestARequestTriesOthersAsOftenAsRetriesAllow(t *testing.T) {
	for kind := range Kind(len(kindNames)) {
		for retries, want := range []int{1, 2, 3, 4, 4} {
			r := newRig()
			v := users("base", "a:1", "b:1", "c:1", "d:1")
			v.Balance.Kind, v.Retries = kind, retries
			got := r.walk(r.put(v)[0])
			if len(got) != want {
				t.Errorf("%s with %d retries of four endpoints: tried %v, want %d", kind, retries, got, want)
			}
			slices.Sort(got)
			if len(slices.Compact(got)) != want {
				t.Errorf("%s with %d retries: tried one twice", kind, retries)
			}
		}
	}
}

func TestTriesAreBounded(t *testing.T) {
	r := newRig()
	v := users("base", addressesOf(2*maxTries)...)
	v.Retries = 3 * maxTries
	if got := r.walk(r.put(v)[0]); len(got) != maxTries {
		t.Errorf("one request tried %d endpoints, want %d", len(got), maxTries)
	}
}

func TestRetriesSpreadOverTheOthers(t *testing.T) {
	r := newRig()
	g := r.put(users("base", "a:1", "b:1", "c:1", "d:1"))[0]
	second := map[string]int{}
	for range 300 {
		r.pass(time.Second) // the budget is not what is asked about
		walk := r.walk(g)
		if walk[0] == "a:1" {
			second[walk[1]]++
		}
	}
	for _, address := range []string{"b:1", "c:1", "d:1"} {
		if second[address] == 0 {
			t.Errorf("after a:1 nothing was tried at %s: %v", address, second)
		}
	}
}

func TestRetriesEndWithTheBudget(t *testing.T) {
	r := newRig()
	g := r.put(users("base", "a:1", "b:1", "c:1"))[0]
	tried := 0
	for range 1000 {
		tried += len(r.walk(g))
	}
	// What an endpoint has not told of yet is not known.
	want, within := 1000+1000/retryShare+retryFloor, 3*tellEvery/retryShare
	if tried < want-within || tried > want+within {
		t.Errorf("1000 requests tried %d endpoints, want %d within %d", tried, want, within)
	}
	for _, s := range r.Status() {
		if s.InFlight != 0 {
			t.Errorf("%s has %d requests under way after all have ended", s.Address, s.InFlight)
		}
	}
}

func TestTheBudgetIsTheServices(t *testing.T) {
	r := newRig()
	groups := r.put(users("base", "a:1", "b:1"), users("gray", "c:1", "d:1"))
	for range 2 * retryFloor {
		r.walk(groups[1])
	}
	if got := r.walk(groups[0]); len(got) != 1 {
		t.Errorf("after gray used up the budget base tried %v, want one endpoint", got)
	}
}

func TestPickOfAnEmptyGroupIsNone(t *testing.T) {
	r := newRig()
	for kind := range Kind(len(kindNames)) {
		v := users("gray")
		v.Balance.Kind = kind
		if got := r.walk(r.put(v)[0]); got != nil {
			t.Errorf("%s: got %v, want none", kind, got)
		}
	}
}

func TestReloadKeepsWhatIsKnown(t *testing.T) {
	r := newRig()
	g := r.put(users("base", "a:1", "b:1"))[0]
	r.count(g, 6, only("b:1", errors.New("closed")))
	before := r.Status()
	origin := r.endpoint(t, g, "b:1").Origin(nil)

	r.put(users("base", "b:1", "z:1"))
	after := r.Status()
	if diff := cmp.Diff(after[0], before[1]); diff != "" || after[0].Requests != 3 || after[0].Failures != 3 {
		t.Errorf("b:1 after the reload differs (-got +want):\n%s", diff)
	}
	if r.endpoint(t, g, "b:1").Origin(nil) != origin {
		t.Error("b:1 has lost its connections")
	}
	if after[1].Address != "z:1" || len(after) != 2 {
		t.Errorf("got %v, want b:1 and z:1", after)
	}
}

func TestReloadKeepsThePlaceInTheRound(t *testing.T) {
	r := newRig()
	v := users("base", "a:1", "b:1", "c:1")
	var got []string
	for range 6 {
		got = append(got, r.ask(r.put(v)[0], well))
	}
	slices.Sort(got[:3])
	if diff := cmp.Diff(got[:3], []string{"a:1", "b:1", "c:1"}); diff != "" {
		t.Errorf("with a reload before each request the round differs (-got +want):\n%s", diff)
	}
}

func TestOldGenerationServesOnAfterCommit(t *testing.T) {
	r := newRig()
	old := r.put(users("base", "a:1"))[0]
	r.put(users("base", "z:1"))
	if got := r.ask(old, well); got != "a:1" {
		t.Errorf("a request of the policy before went to %s, want a:1", got)
	}
	old.Set([]Target{{Address: "b:1", Weight: 1}})
	if got := r.states(); got["b:1"] != "" {
		t.Errorf("a source of the policy before has added to the table: %v", got)
	}
}

func TestSourceReplacesTheEndpoints(t *testing.T) {
	r := newRig()
	g := r.put(users("base", "a:1", "b:1"))[0]
	r.fail(t, g, "b:1")
	g.Set([]Target{{Address: "b:1", Weight: 1}, {Address: "c:1", Weight: 1}, {Address: "c:1", Weight: 5}})
	want := map[string]string{"b:1": StateOut, "c:1": StateOK}
	if diff := cmp.Diff(r.states(), want); diff != "" {
		t.Errorf("states differ (-got +want):\n%s", diff)
	}
	g.Set(nil)
	if total, usable := g.Counts(); total != 0 || usable != 0 {
		t.Errorf("got %d usable of %d, want none of none", usable, total)
	}
}

func TestSourceThatFailsIsShownUntilItAnswers(t *testing.T) {
	r := newRig()
	g := r.put(users("base", "a:1"))[0]
	g.Stale(errAny)
	since := r.clock
	r.pass(time.Second)
	g.Stale(errAny)
	want := []Source{{Service: "users", Tag: "base", Since: since, Error: "any"}}
	if diff := cmp.Diff(r.Stale(), want); diff != "" {
		t.Errorf("stale sources differ (-got +want):\n%s", diff)
	}
	g.Partial([]Target{{Address: "b:1", Weight: 1}}, errAny)
	if got := r.Stale(); len(got) != 1 {
		t.Errorf("of a source that finds only part: got %v, want it among the stale", got)
	}
	if got := r.count(g, 1, well); got["b:1"] != 1 {
		t.Errorf("got %v, want what it has found", got)
	}
	g.Set([]Target{{Address: "a:1", Weight: 1}})
	if got := r.Stale(); len(got) != 0 {
		t.Errorf("after an answer: got %v, want none", got)
	}
}

func TestTimeoutsThatChangeMakeNewOrigins(t *testing.T) {
	r := newRig()
	v := users("base", "a:1", "b")
	g := r.put(v)[0]
	a, b := r.endpoint(t, g, "a:1"), r.endpoint(t, g, "b")
	before := []any{a.Origin(nil), b.Origin([]byte("users:81"))}
	v.Timeouts.Header = time.Second
	r.put(v)
	if a.Origin(nil) == before[0] || b.Origin([]byte("users:81")) == before[1] {
		t.Error("an origin has kept its old timeouts")
	}
}

func TestPickDoesNotAllocate(t *testing.T) {
	for kind := range Kind(len(kindNames)) {
		r := newRig()
		v := users("base", "a:1", "b", "[::1]:3")
		v.Balance.Kind, v.Limit.Requests = kind, 10
		g := r.put(v)[0]
		authority := []byte("users:8080")
		got := testing.AllocsPerRun(1000, func() {
			r.pass(time.Second)
			pick := g.Pick(r.rand())
			for ep := pick.Next(r.clock); ep != nil; ep = pick.Next(r.clock) {
				ep.Origin(authority)
				pick.End(Result{Now: r.clock, Status: 200, Waited: time.Millisecond})
			}
		})
		if got != 0 {
			t.Errorf("%s: got %v allocations per walk, want 0", kind, got)
		}
	}
}

func TestGoroutinesPickAtOnce(t *testing.T) {
	r := newRig()
	r.rand = NewTable(r.cfg).rand
	r.now = time.Now
	v := users("base", addressesOf(9)...)
	var workers sync.WaitGroup
	for i := range 8 {
		v.Balance.Kind = Kind(i % len(kindNames))
		g := r.put(v)[0]
		workers.Go(func() {
			for n := range 300 {
				pick := g.Pick(uint64(n))
				for ep := pick.Next(time.Now()); ep != nil; ep = pick.Next(time.Now()) {
					pick.End(Result{Now: time.Now(), Err: errRefused})
				}
				if n%50 == 0 {
					g.Set(v.Targets[n%3:])
					r.Status()
				}
			}
		})
	}
	workers.Wait()
}
