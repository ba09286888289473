package upstream

import (
	linked "container/list"
	"sync"
	"sync/atomic"
	"time"
)

// Limit is how many requests an endpoint may have at a time.
type Limit struct {
	Requests int           // 0: no limit
	Wait     time.Duration // for one of them to end, where all endpoints are full
}

// queue is the requests that wait for an endpoint with room, in the order in which they
// came. The first is told when there may be room, and tells who stands behind it: of more
// room if it found some, and of this room if that is of no use to it.
type queue struct {
	waiting atomic.Int32 // how many do, so that nobody takes mu where nobody does

	mu      sync.Mutex
	waiters linked.List // of chan struct{}, which holds one word that was not heard yet
}

// wake is for when there may be room.
func (q *queue) wake() {
	if q.waiting.Load() == 0 {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	tell(q.waiters.Front())
}

func (q *queue) enter() *linked.Element {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting.Add(1)
	return q.waiters.PushBack(make(chan struct{}, 1))
}

// pass tells who stands behind e.
func (q *queue) pass(e *linked.Element) {
	q.mu.Lock()
	defer q.mu.Unlock()
	tell(e.Next())
}

// leave is for who waits no more. What e was told and has not heard is for others.
func (q *queue) leave(e *linked.Element) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(e.Value.(chan struct{})) > 0 {
		tell(e.Next())
	}
	q.waiters.Remove(e)
	q.waiting.Add(-1)
}

// tell is called with mu.
func tell(e *linked.Element) {
	if e == nil {
		return
	}
	select {
	case e.Value.(chan struct{}) <- struct{}{}:
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
	place := q.enter()
	defer q.leave(place)
	room := place.Value.(chan struct{})
	timer := time.NewTimer(limit)
	defer timer.Stop()
	var gone <-chan struct{}
	if p.Caller != nil {
		gone = p.Caller.Gone()
	}
	for {
		// At first too: a request may have ended before we counted as waiting.
		ep := p.look()
		q.pass(place)
		if ep != nil {
			return ep
		}
		select {
		case <-room:
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
