package upstream

import (
	"cmp"
	"slices"
	"time"
)

// Status is what is known of one endpoint of one version.
type Status struct {
	Service   string    `json:"service"`
	Tag       string    `json:"tag"`
	Address   string    `json:"address"`
	Zone      string    `json:"zone,omitempty"`
	Weight    int       `json:"weight"`
	Protocol  string    `json:"protocol"`      // in which requests of HTTP/1 are sent
	State     string    `json:"state"`         // see the State constants
	Since     time.Time `json:"since"`         // when it became so
	Why       string    `json:"why,omitempty"` // what failed last, where it is not well
	InFlight  int64     `json:"inFlight"`      // requests now
	LatencyMS float64   `json:"latencyMs"`     // decaying average of response times; 0: not known
	Requests  uint64    `json:"requests"`      // since the address is known
	Failures  uint64    `json:"failures"`      // of these: not answered by the endpoint
}

// The states of an endpoint.
const (
	StateOK      = "ok"      // takes its part
	StateWarming = "warming" // was out, and takes more and more of its part
	StateKept    = "kept"    // sick, but in use for want of others
	StateTrial   = "trial"   // out, with one request to try it
	StateDoubt   = "doubt"   // out, since it could not be connected to just now
	StateOut     = "out"     // out, until a trial or an active check says otherwise
	StateIdle    = "idle"    // weight 0 beside others: not one request
)

// Status lists the endpoints in use, by service, tag and address.
func (t *Table) Status() []Status {
	list := []Status{} // not nil: JSON shows an empty list
	for _, r := range t.all() {
		list = append(list, r.status()...)
	}
	slices.SortFunc(list, func(a, b Status) int {
		return cmp.Or(cmp.Compare(a.Service, b.Service), cmp.Compare(a.Tag, b.Tag), cmp.Compare(a.Address, b.Address))
	})
	return list
}

func (r *roster) status() []Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.groups) == 0 {
		return nil
	}
	g := r.groups[0] // a group to come is behind the one in use
	v := g.view.Load()
	var list []Status
	for i, m := range g.list.members {
		list = append(list, r.statusOf(m, v.ranks[i] != gone))
	}
	for _, m := range g.list.idle {
		s := r.statusOf(m, true)
		s.State = StateIdle
		list = append(list, s)
	}
	return list
}

func (r *roster) statusOf(m member, inUse bool) Status {
	s := Status{
		Service: r.service, Tag: r.tag, Address: m.Address, Zone: m.zone, Weight: m.weight, Protocol: m.protocol(),
		InFlight: m.load.inFlight(), Requests: m.load.requests(), Failures: m.failures.Load(),
		LatencyMS: m.latency.get() / float64(time.Millisecond),
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s.State, s.Since = m.state(r.table.now(), inUse), m.since
	if s.State != StateOK {
		s.Why = m.why
	}
	return s
}

func (e *Endpoint) state(now time.Time, inUse bool) string {
	switch w := e.warming.Load(); {
	case e.sick && inUse:
		return StateKept
	case e.sick && !e.circuit.trial.IsZero():
		return StateTrial
	case e.circuit.doubt && !e.check.ill:
		return StateDoubt
	case e.sick:
		return StateOut
	case w != nil && now.Sub(w.from) < warmUp:
		return StateWarming
	}
	return StateOK
}

// Source is a source of endpoints that fails.
type Source struct {
	Service string    `json:"service"`
	Tag     string    `json:"tag"`
	Since   time.Time `json:"since"` // when it began to fail
	Error   string    `json:"error"`
}

// Stale lists the versions whose source fails, by service and tag: their
// endpoints are as they last were.
func (t *Table) Stale() []Source {
	list := []Source{}
	for _, r := range t.all() {
		if s := r.stale(); s != nil {
			list = append(list, *s)
		}
	}
	slices.SortFunc(list, func(a, b Source) int {
		return cmp.Or(cmp.Compare(a.Service, b.Service), cmp.Compare(a.Tag, b.Tag))
	})
	return list
}

// stale returns how the source of the endpoints fails, nil if it does not.
func (r *roster) stale() *Source {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.groups) == 0 || r.groups[0].source.err == nil {
		return nil
	}
	s := r.groups[0].source
	return &Source{Service: r.service, Tag: r.tag, Since: s.since, Error: s.err.Error()}
}
