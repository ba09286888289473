package upstream

import (
	"math"
	"sync/atomic"
	"time"
)

// remembered is how long the average of response times remembers: what was
// measured so long ago counts a third of what it did.
const remembered = 5 * time.Second

// latency is the decaying average of response times. It decays by the clock, not
// by the number of requests, so that one measurement of an endpoint that gets
// little is enough to see that it has recovered. It is safe for concurrent use;
// the zero latency has measured nothing.
type latency struct {
	average atomic.Uint64 // bits of a float64, in nanoseconds
	last    atomic.Int64  // Unix time of the last measurement in nanoseconds
}

func (l *latency) add(now time.Time, took time.Duration) {
	at := now.UnixNano()
	since := max(0, at-l.last.Swap(at))
	old := math.Exp(-float64(since) / float64(remembered))
	for {
		bits := l.average.Load()
		next := float64(took)
		if bits != 0 {
			next = math.Float64frombits(bits)*old + next*(1-old)
		}
		if l.average.CompareAndSwap(bits, math.Float64bits(max(next, 1))) {
			return
		}
	}
}

// get returns the average in nanoseconds, 0 if nothing was measured.
func (l *latency) get() float64 { return math.Float64frombits(l.average.Load()) }
