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
	// of its endpoints is usable, 0 to 1.
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
)

// first returns the place in the view's order where the walk of a request begins.
func (p *Pick) first() int {
	v, g := p.view, p.group
	switch g.version.Balance.Kind {
	case Random:
		return v.turn(g.roster.table.rand())
	case LeastRequest:
		return v.lessLoaded(g.roster.table.rand())
	case ResponseTime:
		return v.likelyFaster(p.began, g.roster.table.rand)
	case Burst:
		return v.turn((v.burst.Add(1) - 1) / uint64(g.version.Balance.Size))
	}
	return v.turn(g.roster.round.Add(1) - 1)
}

// turn returns whose turn the nth is.
func (v *view) turn(n uint64) int {
	if v.turns == nil {
		return int(n % uint64(v.near))
	}
	return int(v.turns[n%uint64(len(v.turns))])
}

// lessLoaded draws two and returns the one with fewer requests under way for its
// weight.
func (v *view) lessLoaded(random uint64) int {
	i, j := v.turn(random&0xffffffff), v.turn(random>>32)
	if i == j {
		j = (i + 1) % v.near
	}
	a, b := &v.order[i], &v.order[j]
	if b.inFlight.Load()*int64(a.weight) < a.inFlight.Load()*int64(b.weight) {
		return j
	}
	return i
}
