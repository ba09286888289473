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
	room    chan int32 // of capacity 1: one wakes, and wakes the next; how many may hear of it in turn
}

// wake is for when there may be room.
func (q *queue) wake() { q.tell(q.waiting.Load()) }

func (q *queue) tell(most int32) {
	if most <= 0 {
		return
	}
	select {
	case q.room <- most:
	default:
	}
}

// wait looks again whenever a request ends, for as long as the limit says and the
// caller is there.
func (p *Pick) wait() *Endpoint {
	limit, q := p.group.version.Limit.Wait, &p.group.roster.queue
	if limit <= 0 {
		return nil
	}
	q.waiting.Add(1)
	defer q.waiting.Add(-1)
	timer := time.NewTimer(limit)
	defer timer.Stop()
	var gone <-chan struct{}
	if p.Caller != nil {
		gone = p.Caller.Gone()
	}
	for heard := int32(0); ; {
		// At first too: a request may have ended before we counted as waiting.
		if ep := p.look(); ep != nil {
			q.wake()
			return ep
		}
		q.tell(heard - 1) // who has not been where there is room may have it
		select {
		case heard = <-q.room:
			p.began = p.group.roster.table.now()
		case <-gone:
			p.left = true
			return nil
		case <-timer.C:
			return nil
		}
	}
}

// reserve counts a request to the endpoint, unless it has as many as it may.
func (p *Pick) reserve(ep *Endpoint) bool {
	v := &p.group.version
	n := ep.load.begin(v.Limit.Requests)
	if p.onTop = n > crowded && v.Balance.Kind == Hash; p.onTop {
		p.group.roster.crowd.Add(1)
	}
	return n > 0
}

// release ends what reserve counted.
func (p *Pick) release(ep *Endpoint, now time.Time) {
	if uint32(ep.load.end()%tellEvery) == ep.tells {
		p.group.roster.budget.tried(now, tellEvery)
	}
	p.freed()
}

// unreserve takes back what reserve counted.
func (p *Pick) unreserve(ep *Endpoint) {
	ep.load.undo()
	p.freed()
}

// freed tells who counts on it that one request is gone.
func (p *Pick) freed() {
	r := p.group.roster
	if p.onTop {
		r.crowd.Add(-1)
	}
	if p.group.version.Limit.Requests > 0 {
		r.queue.wake()
	}
}
