package upstream

import (
	"math"
	"time"
)

// warming is how an endpoint that was out comes back: with a tenth of its part,
// and its whole part after warmUp. Its caches are cold, and all callers return to
// it at once.
type warming struct{ from time.Time }

const (
	warmUp     = 30 * time.Second
	warmLeast  = 0.1
	wholeRange = float64(math.MaxUint32)
)

// warm tells whether the endpoint takes this request.
func (e *Endpoint) warm(now time.Time) bool {
	w := e.warming.Load()
	if w == nil {
		return true
	}
	part := float64(now.Sub(w.from)) / float64(warmUp)
	if part >= 1 {
		e.warming.CompareAndSwap(w, nil)
		return true
	}
	return float64(e.roster.table.rand()>>32) < max(part, warmLeast)*wholeRange
}
