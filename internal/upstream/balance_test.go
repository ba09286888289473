package upstream

import (
	"maps"
	"slices"
	"strconv"
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

func TestHashKeepsAKeyAtItsEndpoint(t *testing.T) {
	r := newRig()
	v := users("base", addressesOf(10)...)
	v.Balance = Balance{Kind: Hash}
	g := r.put(v)[0]
	owner := func(key uint64) string {
		pick := g.Pick(key)
		ep := pick.Next(r.clock)
		pick.End(Result{Now: r.clock, Status: 200})
		return ep.Address
	}
	before := map[uint64]string{}
	for key := range uint64(2000) {
		before[key] = owner(key)
		if again := owner(key); again != before[key] {
			t.Fatalf("key %d went to %s and then to %s", key, before[key], again)
		}
	}
	out := addressesOf(10)[3]
	r.fail(t, g, out)
	for key, was := range before {
		if now := owner(key); now == out || now != was && was != out {
			t.Fatalf("key %d moved from %s to %s, though %s is out", key, was, now, out)
		}
	}
}

func TestHashBoundsTheLoad(t *testing.T) {
	r := newRig()
	v := users("base", addressesOf(4)...)
	v.Balance = Balance{Kind: Hash}
	g := r.put(v)[0]
	const requests = 400
	picks := make([]Pick, requests)
	for i := range picks { // all with one key
		picks[i] = g.Pick(42)
		picks[i].Next(r.clock)
	}
	for _, s := range r.Status() {
		if most := int64(boundFactor*requests/4) + 1; s.InFlight > most {
			t.Errorf("%s has %d requests under way, want at most %d", s.Address, s.InFlight, most)
		}
	}
	for i := range picks {
		picks[i].End(Result{Now: r.clock, Status: 200})
	}
	if got := g.roster.crowd.Load(); got != 0 {
		t.Errorf("%d requests are still counted after all have ended", got)
	}
}

func TestHashKeepsAFewParallelRequestsTogether(t *testing.T) {
	r := newRig()
	v := users("base", addressesOf(4)...)
	v.Balance = Balance{Kind: Hash}
	g := r.put(v)[0]
	got := map[string]bool{}
	for range boundFloor {
		pick := g.Pick(42)
		got[pick.Next(r.clock).Address] = true
	}
	if len(got) != 1 {
		t.Errorf("%d parallel requests with one key went to %v, want one endpoint", boundFloor, slices.Sorted(maps.Keys(got)))
	}
}

func TestZoneFirst(t *testing.T) {
	for _, kind := range []Kind{RoundRobin, Random, LeastRequest, ResponseTime, Burst, Hash} {
		t.Run(kind.String(), func(t *testing.T) {
			r := newRig()
			r.Zone = "z1"
			v := Version{Service: "users", Tag: "gray", Balance: Balance{Kind: kind, NearShare: 0.5}}
			for i := range 8 {
				v.Targets = append(v.Targets, Target{Address: strconv.Itoa(i) + ":1", Weight: 1, Zone: "z" + strconv.Itoa(1+i/4)})
			}
			g := r.put(v)[0]
			far := func() (n int) {
				for address, got := range r.count(g, 800, well) {
					if address[0] >= '4' {
						n += got
					}
				}
				return n
			}
			if n := far(); n != 0 {
				t.Errorf("with all of my zone usable %d of 800 left it", n)
			}
			r.fail(t, g, "0:1")
			r.fail(t, g, "1:1")
			if n := far(); n != 0 {
				t.Errorf("with half of my zone usable %d of 800 left it", n)
			}
			r.fail(t, g, "2:1")
			if n := far(); n < 500 {
				t.Errorf("with a quarter of my zone usable %d of 800 left it, want about 640", n)
			}
		})
	}
}

func TestZoneFirstPrefersNobodySick(t *testing.T) {
	for _, kind := range []Kind{RoundRobin, Random, LeastRequest, ResponseTime, Burst, Hash} {
		t.Run(kind.String(), func(t *testing.T) {
			r := newRig()
			r.Zone = "z1"
			v := users("base", "a:1", "b:1", "c:1")
			v.Balance = Balance{Kind: kind, NearShare: 0.5}
			v.Targets[0].Zone, v.Targets[1].Zone, v.Targets[2].Zone = "z1", "z1", "z2"
			g := r.put(v)[0]
			r.fail(t, g, "a:1")
			r.fail(t, g, "b:1") // kept, or more than half were out
			if got := r.count(g, 300, func(string) any { return 404 }); got["c:1"] < 100 {
				t.Errorf("with all of my zone sick: got %v, want c:1 to have its part", got)
			}
			r.fail(t, g, "c:1")
			if got := r.count(g, 300, func(string) any { return errGone }); len(got) != 3 {
				t.Errorf("with all of base sick: got %v, want all of it to be used", got)
			}
		})
	}
}

func TestWhatWhoWarmsUpLeavesIsSpread(t *testing.T) {
	for _, kind := range []Kind{RoundRobin, Random, LeastRequest, ResponseTime, Burst} {
		t.Run(kind.String(), func(t *testing.T) {
			r := newRig()
			v := users("base", "a:1", "b:1", "c:1", "d:1", "e:1")
			v.Balance.Kind = kind
			g := r.put(v)[0]
			for _, address := range []string{"b:1", "c:1"} {
				r.endpoint(t, g, address).warming.Store(&warming{from: r.clock})
			}
			got := r.count(g, 5000, well)
			if diff := got["b:1"] + got["c:1"]; diff < 150 || diff > 300 {
				t.Errorf("got %v, want about 200 at b:1 and c:1", got)
			}
			for _, address := range []string{"a:1", "d:1", "e:1"} {
				if got[address] < 1450 || got[address] > 1750 {
					t.Errorf("got %v, want about 1600 at %s", got, address)
				}
			}
		})
	}
}

func TestWhoComesBackIsWarmedUp(t *testing.T) {
	for _, kind := range []Kind{RoundRobin, Random, LeastRequest, ResponseTime, Burst} {
		t.Run(kind.String(), func(t *testing.T) {
			r := newRig()
			v := users("base", "a:1", "b:1")
			v.Balance.Kind = kind
			g := r.put(v)[0]
			r.fail(t, g, "a:1")
			r.pass(r.breaking.out)
			if got := r.ask(g, well); got != "a:1" {
				t.Fatalf("the trial went to %s, want a:1", got)
			}
			for _, c := range []struct {
				after       time.Duration
				least, most int // of 1000
			}{{0, 20, 80}, {15 * time.Second, 200, 300}, {30 * time.Second, 400, 600}} {
				clock := r.clock
				r.pass(c.after)
				if got := r.count(g, 1000, well)["a:1"]; got < c.least || got > c.most {
					t.Errorf("%v after its return a:1 got %d of 1000, want %d to %d", c.after, got, c.least, c.most)
				}
				r.clock = clock
			}
		})
	}
}
