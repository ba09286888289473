package upstream

import (
	"sync/atomic"
	"time"
)

const (
	// window is how long requests and retries count: long enough to cover an
	// endpoint that dies with many requests under way, short enough that a quiet
	// hour saves up nothing.
	window = 10 // seconds
	// retryShare is one retry for this many requests: 20 %.
	retryShare = 5
	// retryFloor is allowed in a window at any rate, so that a service with few
	// requests may retry at all.
	retryFloor = 100
	// tellEvery is of how many requests that an endpoint has had the budget is told
	// at once, so that the cores rarely meet at its counts.
	tellEvery = 16
)

// budget keeps the retries of a service below a share of its requests: when
// everything fails, retries must not be what keeps it down. It is safe for
// concurrent use; the zero budget is ready.
type budget struct{ seconds [window + 1]tally }

// tally counts what happened in one second. A tally that is taken into use for a
// new second may lose a count that comes at the same time.
type tally struct{ second, tries, retries atomic.Int64 }

func (b *budget) at(now time.Time) *tally {
	second := now.Unix()
	t := &b.seconds[second%int64(len(b.seconds))]
	if old := t.second.Load(); old != second && t.second.CompareAndSwap(old, second) {
		t.tries.Store(0)
		t.retries.Store(0)
	}
	return t
}

// tried counts requests that were sent to an endpoint, retries among them.
func (b *budget) tried(now time.Time, n int64) { b.at(now).tries.Add(n) }

// retry counts a retry if there is room for it, and tells whether there is.
func (b *budget) retry(now time.Time) bool {
	current := b.at(now)
	var tries, retries int64
	for i := range b.seconds {
		t := &b.seconds[i]
		if now.Unix()-t.second.Load() < window {
			tries += t.tries.Load()
			retries += t.retries.Load()
		}
	}
	if retries >= retryFloor+max(0, tries-retries)/retryShare {
		return false
	}
	current.retries.Add(1)
	return true
}
