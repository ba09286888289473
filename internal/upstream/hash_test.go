package upstream

import (
	"testing"
)

// hashed is a group balanced by hash over endpoints of these weights, and a key
// whose endpoint has the last of them.
func hashed(t *testing.T, r *rig, weights ...int) (g *Group, key uint64) {
	t.Helper()
	v := users("base", addressesOf(len(weights))...)
	for i, weight := range weights {
		v.Targets[i].Weight = weight
	}
	v.Balance = Balance{Kind: Hash}
	g = r.put(v)[0]
	last := v.Targets[len(weights)-1].Address
	for ; key < 10_000; key++ {
		pick := g.Pick(key)
		ep := pick.Next(r.clock)
		pick.End(Result{Now: r.clock, Status: 200})
		if ep.Address == last {
			return g, key
		}
	}
	t.Fatalf("of 10000 keys none is at %s", last)
	return nil, 0
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
	const requests = 400
	for _, weights := range [][]int{{1, 1, 1, 1}, {1, 1, 2}, {2, 2, 4, 1}} {
		r := newRig()
		g, key := hashed(t, r, weights...)
		picks := make([]Pick, requests)
		for i := range picks { // all with one key
			picks[i] = g.Pick(key)
			picks[i].Next(r.clock)
		}
		sum := 0
		for _, weight := range weights {
			sum += weight
		}
		for i, s := range r.Status() {
			most := int64(boundFactor*requests*float64(weights[i])/float64(sum)) + 1
			if s.InFlight > most {
				t.Errorf("weights %v: %s has %d requests under way, want at most %d", weights, s.Address, s.InFlight, most)
			}
			if i == len(weights)-1 && s.InFlight < most-3 {
				t.Errorf("weights %v: the key's endpoint has %d requests under way, want %d", weights, s.InFlight, most)
			}
		}
		for i := range picks {
			picks[i].End(Result{Now: r.clock, Status: 200})
		}
		if got := g.roster.crowd.Load(); got != 0 {
			t.Errorf("weights %v: %d requests are still counted after all have ended", weights, got)
		}
	}
}

func TestHashKeepsAFewParallelRequestsTogether(t *testing.T) {
	for name, weights := range map[string][]int{
		"equal": ones(20), "light": {9, 9, 9, 9, 9, 9, 9, 9, 9, 3},
	} {
		r := newRig()
		g, key := hashed(t, r, weights...)
		got := map[string]int{}
		const together = 8
		for range together + 1 {
			pick := g.Pick(key)
			got[pick.Next(r.clock).Address]++
		}
		home := addressesOf(len(weights))[len(weights)-1]
		if got[home] != together || len(got) != 2 {
			t.Errorf("%s: %d parallel requests with one key went to %v, want all but one to %s", name, together+1, got, home)
		}
	}
}
