package upstream

import (
	"math"
	"slices"
	"sync/atomic"
	"time"
)

// view is whom the picks of a group may choose from now. It is made anew whenever
// an endpoint comes, goes, falls sick or recovers; picks read it without a lock.
type view struct {
	list   *list
	order  []member // usable, the preferred ones first
	near   int      // how many of them are preferred: all, or those of our zone
	turns  []int32  // places in order[:near] by weight; nil: equal weights
	weight int      // of order[:near] together
	ranks  []rank   // of the list's members

	out []*Endpoint  // taken out; a trial may bring them back
	due atomic.Int64 // when the next trial may begin, Unix time in nanoseconds

	burst   *shared // requests since the list changed
	fastest fastest
}

// rank is what a member of the list is in a view.
type rank uint8

const (
	gone rank = iota
	near
	far
)

// newView sorts the members of the group's list by what is known of them now.
func (g *Group) newView() *view {
	v := &view{list: g.list, ranks: make([]rank, len(g.list.members))}
	for i := range v.ranks {
		v.ranks[i] = near
	}
	for _, i := range g.takenOut() {
		v.ranks[i] = gone
		v.out = append(v.out, g.list.members[i].Endpoint)
	}
	g.preferZone(v)
	for _, wanted := range []rank{near, far} {
		for i, m := range g.list.members {
			if v.ranks[i] == wanted {
				v.order = append(v.order, m)
			}
		}
		if wanted == near {
			v.near = len(v.order)
		}
	}
	weights := make([]int, v.near)
	for i, m := range v.order[:v.near] {
		weights[i] = m.weight
		v.weight += m.weight
	}
	v.turns = turns(weights)
	v.due.Store(v.nextDue())
	return v
}

// takenOut returns the places of the members that are out. Those who fell sick
// first are out first. Of base never more than half is, and none if all are sick:
// there is nothing else to serve a base request, and what looks like all of base
// being sick is more likely our own fault.
func (g *Group) takenOut() []int {
	members := g.list.members
	var sick []int
	since := make(map[int]time.Time)
	for i, m := range members {
		if at, is := m.sickSince(); is {
			sick = append(sick, i)
			since[i] = at
		}
	}
	if !g.version.Base {
		return sick
	}
	if len(sick) == len(members) {
		return nil
	}
	slices.SortStableFunc(sick, func(a, b int) int { return since[a].Compare(since[b]) })
	return sick[:min(len(sick), len(members)/2)]
}

// preferZone ranks the members of other zones behind those of ours, while enough
// of ours are left.
func (g *Group) preferZone(v *view) {
	zone, share := g.roster.table.Zone, g.version.Balance.NearShare
	if zone == "" || share <= 0 {
		return
	}
	ours, usable := 0, 0
	for i, m := range g.list.members {
		if m.zone == zone {
			ours++
			if v.ranks[i] != gone {
				usable++
			}
		}
	}
	if usable == 0 || float64(usable) < share*float64(ours) {
		return
	}
	for i, m := range g.list.members {
		if m.zone != zone && v.ranks[i] != gone {
			v.ranks[i] = far
		}
	}
}

// sameOrder tells whether both views offer the same endpoints in the same order.
func (v *view) sameOrder(other *view) bool {
	return slices.EqualFunc(v.order, other.order, func(a, b member) bool { return a.Endpoint == b.Endpoint })
}

// isDue tells whether a trial may begin.
func (v *view) isDue(now time.Time) bool {
	return len(v.out) > 0 && now.UnixNano() >= v.due.Load()
}

// trial returns an endpoint that is out and may be tried with one request, nil if
// there is none.
func (v *view) trial(now time.Time) *Endpoint {
	if !v.isDue(now) {
		return nil
	}
	i := slices.IndexFunc(v.out, func(ep *Endpoint) bool { return ep.admit(now) })
	v.due.Store(v.nextDue())
	if i < 0 {
		return nil
	}
	return v.out[i]
}

func (v *view) nextDue() int64 {
	next := int64(math.MaxInt64)
	for _, ep := range v.out {
		if due, ok := ep.trialDue(); ok {
			next = min(next, due.UnixNano())
		}
	}
	return next
}
