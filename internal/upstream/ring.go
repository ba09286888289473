package upstream

import (
	"cmp"
	"math/bits"
	"slices"
)

// ringPoints is how many points the heaviest member has: enough that members of
// the same weight get shares within about a tenth of each other, which the load
// bound then evens out.
const ringPoints = 128

// ring places members on a circle, each at points that depend on its own address
// only: when one comes or goes, only the keys next to its points move.
type ring struct {
	points []point // in the order of the circle
	starts []int32 // first point of each of equal arcs
	shift  int     // from a place on the circle to its arc
}

type point struct {
	at     uint64
	member int32
}

// newRing places the members by address, with points in the ratio of the weights.
func newRing(addresses []string, weights []int) *ring {
	r := &ring{}
	heaviest := slices.Max(append([]int{1}, weights...))
	for i, address := range addresses {
		h := hashOf(address)
		for k := range max(1, ringPoints*weights[i]/heaviest) {
			r.points = append(r.points, point{mix(h + uint64(k)*odd), int32(i)})
		}
	}
	slices.SortFunc(r.points, func(a, b point) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(addresses[a.member], addresses[b.member]))
	})
	r.index()
	return r
}

// index divides the circle into about as many arcs as there are points, so that
// finding a place is one look-up and a short walk.
func (r *ring) index() {
	width := bits.Len(uint(len(r.points)))
	r.shift = 64 - width
	r.starts = make([]int32, 1<<width)
	p := 0
	for arc := range r.starts {
		for p < len(r.points) && r.points[p].at>>r.shift < uint64(arc) {
			p++
		}
		r.starts[arc] = int32(p)
	}
}

// find returns the first point at or after the place of the key.
func (r *ring) find(key uint64) int {
	place := mix(key)
	i := int(r.starts[place>>r.shift])
	for i < len(r.points) && r.points[i].at < place {
		i++
	}
	if i == len(r.points) {
		return 0
	}
	return i
}

// odd spreads the points of a member (2^64 divided by the golden ratio).
const odd = 0x9e3779b97f4a7c15

// hashOf is FNV-1a with 64 bits: the same in every process, so that all sidecars
// send a key to the same endpoint.
func hashOf(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}

// mix spreads every bit of h over all of them (the finaliser of MurmurHash3).
func mix(h uint64) uint64 {
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
