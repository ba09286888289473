package upstream

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func balanced(b Balance, weights map[string]int) Version {
	v := users("base")
	v.Balance = b
	for _, address := range slices.Sorted(maps.Keys(weights)) {
		v.Targets = append(v.Targets, Target{Address: address, Weight: weights[address]})
	}
	return v
}

func TestWeightsAreKept(t *testing.T) {
	for _, kind := range []Kind{RoundRobin, Random, LeastRequest, ResponseTime, Burst} {
		for _, c := range []struct {
			name    string
			weights map[string]int
			want    map[string]float64
		}{
			{"equal", map[string]int{"a:1": 1, "b:1": 1, "c:1": 1}, map[string]float64{"a:1": 1, "b:1": 1, "c:1": 1}},
			{"uneven", map[string]int{"a:1": 1, "b:1": 2, "c:1": 5}, map[string]float64{"a:1": 1, "b:1": 2, "c:1": 5}},
			{"0 beside others: not one", map[string]int{"a:1": 0, "b:1": 1, "c:1": 3}, map[string]float64{"b:1": 1, "c:1": 3}},
			{"all 0: equal", map[string]int{"a:1": 0, "b:1": 0, "c:1": 0}, map[string]float64{"a:1": 1, "b:1": 1, "c:1": 1}},
			{"one alone", map[string]int{"a:1": 7}, map[string]float64{"a:1": 1}},
		} {
			t.Run(kind.String()+"/"+c.name, func(t *testing.T) {
				r := newRig()
				g := r.put(balanced(Balance{Kind: kind}, c.weights))[0]
				if got := r.count(g, 8000, well); !fits(got, c.want) {
					t.Errorf("got %v, want parts of %v", got, c.want)
				}
			})
		}
	}
}

func TestRoundRobinGoesInTurn(t *testing.T) {
	r := newRig()
	g := r.put(balanced(Balance{}, map[string]int{"a:1": 3, "b:1": 1}))[0]
	g.roster.round.Store(0)
	var got []string
	for range 8 {
		got = append(got, r.ask(g, well))
	}
	if diff := cmp.Diff(got, []string{"a:1", "a:1", "b:1", "a:1", "a:1", "a:1", "b:1", "a:1"}); diff != "" {
		t.Errorf("turns differ (-got +want):\n%s", diff)
	}
}

func TestVersionsHaveTheirOwnPlaceInTheRound(t *testing.T) {
	r := newRig()
	groups := r.put(users("base", "a:1", "b:1"), users("gray", "c:1", "d:1"))
	base, gray := groups[0], groups[1]
	base.roster.round.Store(0)
	gray.roster.round.Store(0)
	got := []string{r.ask(base, well), r.ask(gray, well), r.ask(base, well), r.ask(gray, well)}
	if diff := cmp.Diff(got, []string{"a:1", "c:1", "b:1", "d:1"}); diff != "" {
		t.Errorf("picks differ (-got +want):\n%s", diff)
	}
}

func TestSidecarsDoNotAllBeginWithTheSameEndpoint(t *testing.T) {
	first := map[string]bool{}
	for range 100 {
		r := newRig()
		r.rand = NewTable(r.cfg).rand
		first[r.ask(r.put(users("base", "a:1", "b:1", "c:1"))[0], well)] = true
	}
	if len(first) != 3 {
		t.Errorf("a hundred sidecars began with %v, want all three", slices.Sorted(maps.Keys(first)))
	}
}

func TestLeastRequestPrefersWhoHasFewer(t *testing.T) {
	r := newRig()
	g := r.put(balanced(Balance{Kind: LeastRequest}, map[string]int{"a:1": 1, "b:1": 1, "c:1": 1}))[0]
	underWay(r.endpoint(t, g, "b:1"), 50)
	got := r.count(g, 3000, well)
	// Of the three pairs b loses both that it is in.
	if got["b:1"] != 0 {
		t.Errorf("got %v, want none at b:1, which has 50 requests under way", got)
	}
	underWay(r.endpoint(t, g, "b:1"), 0)
	if got := r.count(g, 3000, well); !fits(got, map[string]float64{"a:1": 1, "b:1": 1, "c:1": 1}) {
		t.Errorf("got %v, want equal parts when nothing is under way", got)
	}
}

func TestLeastRequestMeasuresByWeight(t *testing.T) {
	r := newRig()
	g := r.put(balanced(Balance{Kind: LeastRequest}, map[string]int{"a:1": 1, "b:1": 9}))[0]
	underWay(r.endpoint(t, g, "a:1"), 2)
	underWay(r.endpoint(t, g, "b:1"), 9)
	if got := r.count(g, 100, well); got["b:1"] != 100 {
		t.Errorf("got %v, want all at b:1: 9 of weight 9 is less than 2 of weight 1", got)
	}
}

func TestResponseTimeGivesTheSlowerLess(t *testing.T) {
	r := newRig()
	g := r.put(balanced(Balance{Kind: ResponseTime}, map[string]int{"a:1": 1, "b:1": 1, "c:1": 2}))[0]
	took := map[string]time.Duration{"a:1": 10 * time.Millisecond, "b:1": 40 * time.Millisecond, "c:1": 20 * time.Millisecond}
	ask := func() string {
		pick := g.Pick(0)
		ep := pick.Next(r.clock)
		r.pass(time.Millisecond)
		pick.End(Result{Now: r.clock, Status: 200, Waited: took[ep.Address]})
		return ep.Address
	}
	for range 1000 {
		ask()
	}
	got := map[string]int{}
	for range 8000 {
		got[ask()]++
	}
	// Weight by speed: 1/10, 1/40 and 2/20.
	if want := map[string]float64{"a:1": 4, "b:1": 1, "c:1": 4}; !fits(got, want) {
		t.Errorf("got %v, want parts of %v", got, want)
	}

	took["a:1"], took["b:1"] = took["b:1"], took["a:1"]
	for range 30_000 { // half a minute
		ask()
	}
	got = map[string]int{}
	for range 8000 {
		got[ask()]++
	}
	if want := map[string]float64{"a:1": 1, "b:1": 4, "c:1": 4}; !fits(got, want) {
		t.Errorf("after a and b changed places: got %v, want parts of %v", got, want)
	}
}

func TestBurst(t *testing.T) {
	r := newRig()
	v := users("base", "a:1", "b:1", "c:1")
	v.Balance = Balance{Kind: Burst, Size: 3}
	g := r.put(v)[0]
	burst := func(n int) string {
		got := ""
		for range n {
			got += r.ask(g, well)[:1]
		}
		return got
	}
	if got := burst(11); got != "aaabbbcccaa" {
		t.Errorf("got %s, want aaabbbcccaa", got)
	}
	g = r.put(v)[0]
	if got := burst(3); got != "abb" {
		t.Errorf("after a reload with the same list: got %s, want abb", got)
	}
	g.Set([]Target{{Address: "a:1", Weight: 1}, {Address: "c:1", Weight: 1}})
	if got := burst(4); got != "aaac" {
		t.Errorf("after the list changed: got %s, want aaac", got)
	}
}

func TestResponseTimeTakesTheFastestThatItDrew(t *testing.T) {
	r := newRig()
	v := users("base", "a:1", "b:1", "c:1")
	v.Balance.Kind = ResponseTime
	g := r.put(v)[0]
	for address, took := range map[string]time.Duration{"a:1": time.Second, "b:1": 500 * time.Millisecond, "c:1": time.Millisecond} {
		r.endpoint(t, g, address).latency.add(r.clock, took)
	}
	drawn := uint64(0)
	unlucky := func() uint64 { // draws a and b in turn, and always says that they are too slow
		drawn++
		return 1<<64 - 1<<32 | drawn%2*(1<<31)
	}
	view := g.view.Load()
	if got := view.order[view.likelyFaster(r.clock, unlucky)].Address; got != "b:1" || drawn != draws {
		t.Errorf("after %d draws got %s, want b:1 after %d", drawn, got, draws)
	}
}
