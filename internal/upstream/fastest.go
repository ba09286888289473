package upstream

import (
	"math"
	"sync/atomic"
	"time"
)

// refreshed is how old the fastest average may get: it is what all others are
// compared with, and finding it means asking every endpoint.
const refreshed = 100 * time.Millisecond

// fastest is the lowest average response time of a view.
type fastest struct {
	average atomic.Uint64 // bits of a float64, in nanoseconds
	at      atomic.Int64  // Unix time in nanoseconds
}

// likelyFaster draws by weight and takes what it drew the more likely the faster
// it is, so that each gets its part in the ratio of weight to average. Who was
// never measured counts as fast: one request will tell.
func (v *view) likelyFaster(now time.Time, random func() uint64) int {
	least := v.leastAverage(now)
	best, bestAverage := 0, math.MaxFloat64
	for range draws {
		r := random()
		i := v.drawn(uint32(r))
		average := v.order[i].latency.get()
		if average*float64(r>>32) <= least*(1<<32) {
			return i
		}
		if average < bestAverage {
			best, bestAverage = i, average
		}
	}
	return best
}

func (v *view) leastAverage(now time.Time) float64 {
	last := v.fastest.at.Load()
	if now.UnixNano()-last < int64(refreshed) || !v.fastest.at.CompareAndSwap(last, now.UnixNano()) {
		return math.Float64frombits(v.fastest.average.Load())
	}
	least := math.MaxFloat64
	for i := range v.near {
		if average := v.order[i].latency.get(); average > 0 {
			least = min(least, average)
		}
	}
	v.fastest.average.Store(math.Float64bits(least))
	return least
}
