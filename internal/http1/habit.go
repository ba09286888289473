package http1

import "time"

// habit is what an Origin has learned of how long the other side keeps connections that nobody uses. A request that
// meets the end of its connection on the way is lost, since nobody can know whether it was acted on; so connections have
// to be left before the other side leaves them. Few say when that is (Keep-Alive: timeout=5).
type habit struct {
	ended time.Duration // the shortest time after which one was found ended; 0: none was
}

// sawEnd learns from a connection that was found ended after it had been idle so long.
func (h *habit) sawEnd(idle time.Duration) {
	if h.ended == 0 || idle < h.ended {
		h.ended = idle
	}
}

// sawOpen learns from a connection that was not. If it has lived far longer than one that ended, that one did not end
// for being idle: its process was restarted, perhaps.
func (h *habit) sawOpen(idle time.Duration) {
	if idle > 2*h.ended { // the other side may be late
		h.ended = 0
	}
}

// limit is how long a connection may have been idle, most at most, for a request to be sent on it.
func (h *habit) limit(most time.Duration) time.Duration {
	if h.ended == 0 {
		return most
	}
	return min(most, h.ended/2) // on a loaded machine both sides act late
}
