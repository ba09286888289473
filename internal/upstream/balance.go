package upstream

import "slices"

// Kind is a way to choose the next endpoint of a version.
type Kind uint8

// The ways to choose, by the names that policies use.
const (
	RoundRobin   Kind = iota // in turn, each as often as its weight says, evenly spread
	Random                   // by weight
	LeastRequest             // of two by weight, the one with fewer requests under way
	ResponseTime             // by weight and average response time: the slower, the less
	Burst                    // several to one, then the next; from the first when the list changes
	Hash                     // by a key of the request: the same key, the same endpoint
)

// kindNames is in the order of the constants.
var kindNames = []string{"round-robin", "random", "least-request", "response-time", "burst", "hash"}

// String returns the name that policies use.
func (k Kind) String() string { return kindNames[k] }

// KindNamed returns the kind that a policy names so.
func KindNamed(name string) (Kind, bool) {
	i := slices.Index(kindNames, name)
	return Kind(max(i, 0)), i >= 0
}

// Balance is how the requests of a version are spread over its endpoints.
type Balance struct {
	Kind Kind
	Size int // requests of a burst, 1 or more
	// NearShare, if above 0, keeps requests in our zone while at least that share
	// of its endpoints is healthy, 0 to 1.
	NearShare float64
}

const (
	// draws is how often balancing by response time draws before it takes the
	// fastest that it drew: enough for the shares to be right within a percent
	// where endpoints differ tenfold.
	draws = 8
	// boundFactor is how much more than its part of the requests under way an
	// endpoint may have before keys that hash to it go to the next (Mirrokni and
	// others, "Consistent Hashing with Bounded Loads").
	boundFactor = 1.25
	// boundFloor is how many it may have at any rate: a few parallel requests of
	// one user are no load, and should not part.
	boundFloor = 8
	// crowded is how many each is taken to have where the requests under way are
	// added up: only what comes on top is counted, so that the cores do not meet at
	// that count while there is nothing to bound. It is boundFloor / boundFactor.
	crowded = 6
)

// first returns the place in the view's order where the walk of a request begins.
func (p *Pick) first() int {
	v, g := p.view, p.group
	switch g.version.Balance.Kind {
	case Random:
		return v.drawn(uint32(g.roster.table.rand()))
	case LeastRequest:
		return v.lessLoaded(g.roster.table.rand())
	case ResponseTime:
		return v.likelyFaster(p.began, g.roster.table.rand)
	case Burst:
		return v.turn((v.burst.Add(1) - 1) / int64(g.version.Balance.Size))
	}
	return v.turn(g.roster.round.Add(1) - 1)
}

// turn returns whose turn the nth is.
func (v *view) turn(n int64) int {
	if v.turns == nil {
		return int(uint64(n) % uint64(v.near))
	}
	return int(v.turns[uint64(n)%uint64(len(v.turns))])
}

// drawn returns who it is that a random number falls on.
func (v *view) drawn(random uint32) int {
	if v.turns == nil {
		return int(uint64(random) * uint64(v.near) >> 32)
	}
	return int(v.turns[uint64(random)*uint64(len(v.turns))>>32])
}

// lessLoaded draws two and returns the one with fewer requests under way for its
// weight.
func (v *view) lessLoaded(random uint64) int {
	i, j := v.drawn(uint32(random)), v.drawn(uint32(random>>32))
	if i == j {
		j = (i + 1) % v.near
	}
	a, b := &v.order[i], &v.order[j]
	if b.load.inFlight()*int64(a.weight) < a.load.inFlight()*int64(b.weight) {
		return j
	}
	return i
}
