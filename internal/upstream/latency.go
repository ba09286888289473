package upstream

import (
	"math"
	"sync/atomic"
	"time"
)

const (
	// remembered is how long the average of response times remembers: what was
	// measured so long ago counts a third of what it did.
	remembered = 5 * time.Second
	// behind is how much older than the last measurement one may be that comes late.
	behind = time.Minute
)

// latency is the decaying average of response times. It decays by the clock, not
// by the number of requests, so that one measurement of an endpoint that gets
// little is enough to see that it has recovered. One a millisecond counts: more
// would make it no better. It is safe for concurrent use; the zero latency has
// measured nothing.
type latency struct {
	// state is the average, the bits of a float32 in nanoseconds, below the time of
	// the last measurement, the last 32 bits of its Unix time in milliseconds.
	state atomic.Uint64
}

func (l *latency) add(now time.Time, took time.Duration) {
	old := l.state.Load()
	at := uint32(now.UnixMilli())
	since := at - uint32(old>>32)
	average := float64(took)
	if old != 0 {
		if since == 0 || -since < uint32(behind/time.Millisecond) {
			return
		}
		kept := math.Exp(-float64(since) / float64(remembered/time.Millisecond))
		average = averageIn(old)*kept + average*(1-kept)
	}
	// Where another was faster, it is that one which counts.
	l.state.CompareAndSwap(old, uint64(at)<<32|uint64(math.Float32bits(float32(max(average, 1)))))
}

// get returns the average in nanoseconds, 0 if nothing was measured.
func (l *latency) get() float64 { return averageIn(l.state.Load()) }

func averageIn(state uint64) float64 { return float64(math.Float32frombits(uint32(state))) }
