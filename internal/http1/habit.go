package http1

import "time"

// habit is what an Origin has learned of how long the other side keeps connections that nobody uses. A request that
// meets the end of its connection on the way is lost, since nobody can know whether it was acted on; so connections have
// to be left before the other side leaves them. Few say when that is (Keep-Alive: timeout=5).
type habit struct {
	ended  time.Duration // the shortest time after which one was found ended; 0: none was
	doubts int           // how many were found open since, that were left for it
}

const (
	impatience = 20 * time.Millisecond // what ends sooner did not end for being idle: its process did, perhaps
	conviction = 16                    // doubts that it takes to forget
)

// sawEnd learns from a connection that was found ended after it had been idle so long.
func (h *habit) sawEnd(idle time.Duration) {
	if idle < impatience {
		return
	}
	h.doubts = 0
	if h.ended == 0 || idle < h.ended {
		h.ended = idle
	}
}

// sawOpen learns from a connection that was not. If it has lived far longer than one that ended, that one did not end
// for being idle; and if many are open that were left, neither.
func (h *habit) sawOpen(idle time.Duration) {
	h.doubts++
	if idle > 2*h.ended || h.doubts >= conviction {
		*h = habit{}
	}
}

// limit is how long a connection may have been idle, most at most, for a request to be sent on it.
func (h *habit) limit(most time.Duration) time.Duration {
	if h.ended == 0 {
		return most
	}
	return min(most, h.ended/2) // on a loaded machine both sides act late
}
