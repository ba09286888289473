package upstream

import (
	"slices"
	"time"
)

const (
	// maxTries bounds what a Pick remembers. No request that needs more endpoints
	// will be served.
	maxTries = 8
	// jumps is how many are asked at random before all are asked in order. Where half
	// of them refuse, one request in thirty gets that far.
	jumps = 4
	// lookAgain is when to ask again for a trial that is due and has no room: not for
	// each request, since asking takes locks.
	lookAgain = 10 * time.Millisecond
)

// Pick is one request's walk over a group: the endpoint whose turn it is and, for
// as long as none answers, others of the same version. It is used by one goroutine.
type Pick struct {
	// Caller may leave while Next waits for room; nil: nobody who could. It is for
	// before the first Next.
	Caller Waiter

	group *Group
	key   uint64
	view  *view
	full  bool
	left  bool

	current *Endpoint
	onTop   bool      // of those that crowd current
	began   time.Time // when the request went to current
	tried   [maxTries]*Endpoint
	n       int
}

// Pick starts a walk. The key is what the group balances by: requests with the
// same key go to the same endpoint; where a request has none, any number will do.
// Groups that do not balance by hash ignore it.
func (g *Group) Pick(key uint64) Pick { return Pick{group: g, key: key} }

// Next returns the endpoint to try now, and counts a request to it until End. It
// returns nil when there is none (left), when the retries that the service allows
// are used up, and when all have as many requests as they may, for longer than
// the limit lets a request wait, see Full, or the caller does, see Left.
func (p *Pick) Next(now time.Time) *Endpoint {
	g := p.group
	p.full = false
	if p.n > g.version.Retries || p.n == maxTries {
		return nil
	}
	p.began = now
	ep := p.look()
	if ep == nil && p.full {
		ep = p.wait()
	}
	if ep == nil {
		if p.full && !p.left && p.n == 0 {
			g.roster.counters.overloaded.Add(1)
		}
		return nil
	}
	if p.n > 0 && !p.again(ep) {
		return nil
	}
	p.tried[p.n] = ep
	p.n++
	p.current = ep
	return ep
}

// again tells whether the budget allows another try.
func (p *Pick) again(ep *Endpoint) bool {
	r := p.group.roster
	if !r.budget.retry(p.began) {
		p.unreserve(ep)
		r.counters.denied.Add(1)
		return false
	}
	r.counters.retries.Add(1)
	return true
}

// Full tells whether the last Next found no endpoint since those that are left
// have as many requests as they may.
func (p *Pick) Full() bool { return p.full }

// Left tells whether the last Next found no endpoint since the caller has left
// meanwhile.
func (p *Pick) Left() bool { return p.left }

// Result is what became of a request to an endpoint.
type Result struct {
	Now     time.Time
	Status  int           // of its reply; 0: there was none
	Waited  time.Duration // from the request's being sent to the head of the reply
	Err     error         // of sending
	Leaving bool          // the endpoint is about to end
	Dialed  bool          // a connection was all that was asked for: without Err it was made
}

// End says what became of the request to the endpoint that Next returned last.
// Every endpoint that Next returns needs one End.
func (p *Pick) End(r Result) {
	ep := p.current
	p.current = nil
	p.release(ep, r.Now)
	if r.Err != nil {
		ep.failures.Add(1)
	}
	o := r.outcome()
	if o == good && r.Waited > 0 {
		ep.latency.add(r.Now, r.Waited)
	}
	ep.report(p.began, r.Now, o, r.why())
	if o == unreached || r.Leaving {
		p.group.doubtSource()
	}
}

// look finds an endpoint and counts a request to it, nil if there is none.
func (p *Pick) look() *Endpoint {
	v := p.group.view.Load()
	p.view, p.full = v, false
	if p.n == 0 {
		if ep := p.trial(); ep != nil {
			return ep
		}
	}
	if v.near == 0 {
		return nil
	}
	if v.list.ring != nil {
		return p.lookRound(v.list.ring)
	}
	from := p.start()
	for _, careful := range [...]bool{true, false} {
		if ep := p.scan(v.order[:v.near], from, careful); ep != nil {
			return ep
		}
		if ep := p.scan(v.order[v.near:], from, careful); ep != nil {
			return ep
		}
	}
	return nil
}

// trial returns an endpoint that is out and may be tried with this request, nil if
// there is none.
func (p *Pick) trial() *Endpoint {
	v := p.view
	if !v.isDue(p.began) {
		return nil
	}
	i := slices.IndexFunc(v.out, p.admitted)
	next := v.nextDue()
	if i < 0 {
		v.due.Store(max(next, p.began.Add(lookAgain).UnixNano()))
		return nil
	}
	v.due.Store(next)
	return v.out[i]
}

// admitted counts a request to an endpoint that is out, if it may be tried.
func (p *Pick) admitted(ep *Endpoint) bool {
	if !p.reserve(ep) {
		return false // it has as many as it may, and a trial that sends nothing would tell nothing
	}
	if !ep.admit(p.began) {
		p.unreserve(ep)
		return false
	}
	return true
}

// start returns where in the view's order to look first. A retry starts anywhere,
// so that what a dead endpoint leaves is not all its neighbour's.
func (p *Pick) start() int {
	if p.n > 0 {
		return int(p.group.roster.table.rand() % uint64(p.view.near))
	}
	return p.first()
}

// scan takes the member there or, where it may not have the request, another: the
// first few at random, so that what one leaves is not all its neighbour's, and
// then whoever is next.
func (p *Pick) scan(members []member, at int, careful bool) *Endpoint {
	n := len(members)
	if n == 0 {
		return nil
	}
	if at >= n { // it was a place among the preferred ones
		at %= n
	}
	for asked := 1; ; asked++ {
		if ep := members[at].Endpoint; p.take(ep, careful) {
			return ep
		}
		step := 1
		switch {
		case n == 1 || asked == jumps+n:
			return nil
		case asked <= jumps:
			step += int(p.group.roster.table.rand() % uint64(n-1))
		}
		at = (at + step) % n
	}
}

// lookRound walks the ring from the key's place, past those that have more than
// their part, to the first that may have the request.
func (p *Pick) lookRound(r *ring) *Endpoint {
	v := p.view
	bound := v.bound(p.group.roster.crowd.Load())
	from := r.find(p.key)
	for _, careful := range [...]bool{true, false} {
		for i := range r.points {
			at := from + i
			if at >= len(r.points) {
				at -= len(r.points)
			}
			member := r.points[at].member
			m, rank := v.list.members[member], v.ranks[member]
			if rank == gone || careful && (rank == far || overloaded(m, bound)) {
				continue
			}
			if p.take(m.Endpoint, careful) {
				return m.Endpoint
			}
		}
	}
	return nil
}

// bound is how many requests an endpoint may have for each weight.
func (v *view) bound(crowd int64) float64 {
	return boundFactor * float64(int64(v.near)*crowded+crowd+1) / float64(v.weight)
}

func overloaded(m member, bound float64) bool {
	n := m.load.inFlight()
	return n >= boundFloor && float64(n) >= bound*float64(m.weight)
}

// take counts a request to the endpoint, unless it was tried, has as many as it
// may, or, where the caller is careful, has only just come back.
func (p *Pick) take(ep *Endpoint, careful bool) bool {
	for _, tried := range p.tried[:p.n] {
		if ep == tried {
			return false
		}
	}
	if !p.reserve(ep) {
		p.full = true
		return false
	}
	// Only now: a cache line that is read before it is written moves twice.
	if careful && !ep.warm(p.began) {
		p.unreserve(ep)
		return false
	}
	return true
}
