package upstream

import (
	"sync/atomic"
	"time"
)

// Limit is how many requests an endpoint may have at a time.
type Limit struct {
	Requests int           // 0: no limit
	Wait     time.Duration // for one of them to end, where all endpoints are full
}

// queue is the requests that wait for an endpoint with room.
type queue struct {
	waiting atomic.Int32
	room    chan struct{} // of capacity 1: one wakes, and wakes the next if it found room
}

func (q *queue) wake() {
	if q.waiting.Load() == 0 {
		return
	}
	select {
	case q.room <- struct{}{}:
	default:
	}
}

// wait looks again whenever a request ends, for as long as the limit says.
func (p *Pick) wait() *Endpoint {
	limit, q := p.group.version.Limit.Wait, &p.group.roster.queue
	if limit <= 0 {
		return nil
	}
	q.waiting.Add(1)
	defer q.waiting.Add(-1)
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		// At first too: a request may have ended before we counted as waiting.
		if ep := p.look(); ep != nil {
			q.wake()
			return ep
		}
		select {
		case <-q.room:
		case <-timer.C:
			return nil
		}
	}
}

// reserve counts a request to the endpoint, unless it has as many as it may.
func (g *Group) reserve(ep *Endpoint) bool {
	n := ep.inFlight.Add(1)
	if limit := int64(g.version.Limit.Requests); limit > 0 && n > limit {
		ep.inFlight.Add(-1)
		return false
	}
	if g.version.Balance.Kind == Hash {
		g.roster.inFlight.Add(1)
	}
	return true
}

// release ends what reserve began.
func (g *Group) release(ep *Endpoint) {
	ep.inFlight.Add(-1)
	if g.version.Balance.Kind == Hash {
		g.roster.inFlight.Add(-1)
	}
	if g.version.Limit.Requests > 0 {
		g.roster.queue.wake()
	}
}
