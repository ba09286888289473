package upstream

import (
	"maps"
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
	sick := g.sick()
	for _, i := range g.takenOut(sick) {
		v.ranks[i] = gone
		v.out = append(v.out, g.list.members[i].Endpoint)
	}
	g.preferZone(v, sick)
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

// sick returns since when which of the members are sick, by their place.
func (g *Group) sick() map[int]time.Time {
	sick := make(map[int]time.Time)
	for i, m := range g.list.members {
		if since, is := m.sickSince(); is {
			sick[i] = since
		}
	}
	return sick
}

// takenOut returns the places of the members that are out, given who is sick.
// Those who fell sick first are out first. Of base never more than half is, and
// none if all are sick: there is nothing else to serve a base request, and what
// looks like all of base being sick is more likely our own fault.
func (g *Group) takenOut(sick map[int]time.Time) []int {
	out := slices.Sorted(maps.Keys(sick))
	if !g.version.Base {
		return out
	}
	members := len(g.list.members)
	if len(out) == members {
		return nil
	}
	slices.SortStableFunc(out, func(a, b int) int { return sick[a].Compare(sick[b]) })
	return out[:min(len(out), members/2)]
}

// preferZone ranks the members of other zones behind those of ours, while enough
// of ours are healthy. Who is sick is not, even if it is in use for want of others.
func (g *Group) preferZone(v *view, sick map[int]time.Time) {
	zone, share := g.roster.table.Zone, g.version.Balance.NearShare
	if zone == "" || share <= 0 {
		return
	}
	ours, healthy := 0, 0
	for i, m := range g.list.members {
		if m.zone != zone {
			continue
		}
		ours++
		if _, is := sick[i]; !is {
			healthy++
		}
	}
	if healthy == 0 || float64(healthy) < share*float64(ours) {
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

func (v *view) nextDue() int64 {
	next := int64(math.MaxInt64)
	for _, ep := range v.out {
		if due, ok := ep.trialDue(); ok {
			next = min(next, due.UnixNano())
		}
	}
	return next
}
