package upstream

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// roster is what a version keeps while policies come and go: its endpoints, its
// place in the round, and the groups that pick from them.
type roster struct {
	table        *Table
	service, tag string
	budget       *budget // of the service
	queue        queue
	round        *shared // turns that were taken
	crowd        *shared // requests under way that came on top of crowded; by hash only
	counters     counters
	plain, h2c   origins // of endpoints without a port, by protocol

	mu        sync.Mutex
	timeouts  Timeouts
	check     *Check
	endpoints map[string]*Endpoint // by address
	groups    []*Group             // of the generation in use, and of the one to come
	burst     *shared
	last      *view // the one that burst counts for
}

func newRoster(t *Table, service, tag string, b *budget) *roster {
	r := &roster{
		table: t, service: service, tag: tag, budget: b, round: new(shared), crowd: new(shared),
		endpoints: make(map[string]*Endpoint),
	}
	// Anywhere in the round, or every sidecar that starts would begin with the
	// same endpoint.
	r.round.Store(int64(t.rand() >> 32))
	return r
}

// join makes a group that is not in use yet one of those that hear of changes.
func (r *roster) join(g *Group) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.groups) == 0 {
		r.use(&g.version)
	}
	r.groups = append(r.groups, g)
	r.fill(g, g.version.Targets)
}

// hears tells whether the group is in use, or will be.
func (r *roster) hears(g *Group) bool { return slices.Contains(r.groups, g) }

// fill gives the group its endpoints.
func (r *roster) fill(g *Group, targets []Target) {
	members := make([]member, 0, len(targets))
	seen := make(map[string]bool, len(targets))
	for _, t := range targets {
		if seen[t.Address] {
			continue
		}
		seen[t.Address] = true
		h2c := cmp.Or(t.Protocol, g.version.Protocol) == ProtocolH2C
		ep := r.endpoints[t.Address]
		if ep == nil {
			ep = newEndpoint(t.Address, h2c, r)
			r.endpoints[t.Address] = ep
		}
		members = append(members, member{ep, t.Weight, t.Zone, h2c})
	}
	g.list = newList(members)
	if g.version.Balance.Kind == Hash {
		g.list.addRing()
	}
	r.show(g)
}

// refresh makes the groups see what has changed.
func (r *roster) refresh() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, g := range r.groups {
		r.show(g)
	}
}

// doubt has the sources of the endpoints asked again.
func (r *roster) doubt() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, g := range r.groups {
		g.doubtSource()
	}
}

func (r *roster) show(g *Group) {
	v := g.newView()
	if r.last == nil || !r.last.sameOrder(v) {
		r.burst = new(shared)
	}
	v.burst, r.last = r.burst, v
	g.view.Store(v)
}

// tidy drops the endpoints that no group names any more.
func (r *roster) tidy() {
	used := make(map[*Endpoint]bool, len(r.endpoints))
	for _, g := range r.groups {
		for _, m := range slices.Concat(g.list.members, g.list.idle) {
			used[m.Endpoint] = true
		}
	}
	for address, ep := range r.endpoints {
		if !used[ep] {
			delete(r.endpoints, address)
			ep.retire()
		}
	}
}

// commit leaves only the groups of the generation that is in use now, with their
// settings. It returns whether there are any.
func (r *roster) commit(inUse func(*Group) bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.groups = slices.DeleteFunc(r.groups, func(g *Group) bool { return !inUse(g) })
	r.tidy()
	if len(r.groups) == 0 {
		r.plain.reset(r.plain.cfg)
		r.h2c.reset(r.h2c.cfg)
		return false
	}
	g := r.groups[0]
	r.adopt(g)
	r.show(g)
	return true
}

// adopt puts the settings of the group in force for the endpoints that stay.
func (r *roster) adopt(g *Group) {
	if g.version.Check == nil {
		for _, ep := range r.endpoints {
			ep.uncheck()
		}
	}
	r.check = g.version.Check
	renew := r.timeouts != g.version.Timeouts
	if renew {
		r.use(&g.version)
	}
	r.speak(g, renew)
}

// speak has the endpoints of the group spoken to in its protocols, with new
// connections where that changes, or for all.
func (r *roster) speak(g *Group, all bool) {
	for _, m := range slices.Concat(g.list.members, g.list.idle) {
		if all || m.h2c != m.Endpoint.h2c.Load() {
			m.speak(m.h2c)
		}
	}
}

// originsOf are those of endpoints without a port.
func (r *roster) originsOf(h2c bool) *origins {
	if h2c {
		return &r.h2c
	}
	return &r.plain
}

// use makes the origins from now on as the version wants them.
func (r *roster) use(v *Version) {
	r.timeouts = v.Timeouts
	cfg := v.Timeouts.over(r.table.cfg)
	cfg.Sidecar = true // endpoints have sidecars, strangers have none of ours
	r.plain.reset(originConfig{cfg, false})
	r.h2c.reset(originConfig{cfg, true})
}

// connectTimeout is how long connecting to an endpoint may take.
func (r *roster) connectTimeout() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return cmp.Or(r.plain.cfg.Connect, defaultConnect)
}

// defaultConnect is that of http1.OriginConfig.
const defaultConnect = 5 * time.Second
