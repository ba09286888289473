package upstream

import (
	"bytes"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"graylane/internal/http1"
)

// Table is every endpoint in use. It is safe for concurrent use, but for
// generations, of which one is made at a time.
type Table struct {
	Zone string       // of this pod, for [Balance.NearShare]; "": none
	Log  *slog.Logger // nil: nothing is logged

	cfg       http1.OriginConfig
	strangers origins
	breaking  breaking
	now       func() time.Time
	rand      func() uint64
	woken     chan struct{} // of capacity 1: [Table.Run] looks what is due

	mu      sync.Mutex
	rosters map[name]*roster
	budgets map[string]*budget // by service
}

type name struct{ service, tag string }

// NewTable returns an empty table, which sends with the settings of cfg.
func NewTable(cfg http1.OriginConfig) *Table {
	t := &Table{
		cfg: cfg, breaking: defaultBreaking(), now: time.Now, rand: rand.Uint64,
		woken:   make(chan struct{}, 1),
		rosters: make(map[name]*roster), budgets: make(map[string]*budget),
	}
	t.strangers.cfg = originConfig{OriginConfig: cfg}
	return t
}

// Stranger returns the origin of an authority that no service claims, on port 80
// where it names none. The authority is not kept, and strangers that nobody asks
// for are forgotten.
func (t *Table) Stranger(authority []byte) *Origin {
	if portAt(authority) >= 0 {
		return t.strangers.get(authority)
	}
	var scratch [maxAuthority]byte
	host := bytes.TrimSuffix(authority, []byte(":")) // an empty port is no port (RFC 3986, section 3.2.3)
	return t.strangers.get(appendPort(append(scratch[:0], host...), nil))
}

// wake makes Run look what is due.
func (t *Table) wake() {
	select {
	case t.woken <- struct{}{}:
	default:
	}
}

func (t *Table) log() *slog.Logger {
	if t.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return t.Log
}

// rosterOf returns what the version keeps over the generations.
func (t *Table) rosterOf(service, tag string) *roster {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.rosters[name{service, tag}]
	if r == nil {
		if t.budgets[service] == nil {
			t.budgets[service] = new(budget)
		}
		r = newRoster(t, service, tag, t.budgets[service])
		t.rosters[name{service, tag}] = r
	}
	return r
}

// all returns the rosters at this moment, in no order.
func (t *Table) all() []*roster {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Collect(maps.Values(t.rosters))
}

// Generation is the groups that belong to one policy.
type Generation struct {
	table  *Table
	groups map[*Group]bool
}

// Begin starts the generation of a new policy. The caller adds its groups,
// publishes the policy, and then calls Commit.
func (t *Table) Begin() *Generation {
	return &Generation{table: t, groups: make(map[*Group]bool)}
}

// Group adds a version of a service.
func (g *Generation) Group(v Version) *Group {
	v.Balance.Size = max(v.Balance.Size, 1)
	group := &Group{version: v, roster: g.table.rosterOf(v.Service, v.Tag)}
	group.roster.join(group)
	g.groups[group] = true
	return group
}

// Commit puts the generation in use, once its policy is in force, and closes the
// idle connections of the endpoints that it no longer has. Requests that began
// under the policy before finish under it.
func (g *Generation) Commit() {
	t := g.table
	services := make(map[string]bool)
	for _, r := range t.all() {
		inUse := r.commit(func(group *Group) bool { return g.groups[group] })
		if inUse {
			services[r.service] = true
			continue
		}
		t.mu.Lock()
		delete(t.rosters, name{r.service, r.tag})
		t.mu.Unlock()
	}
	t.mu.Lock()
	maps.DeleteFunc(t.budgets, func(service string, _ *budget) bool { return !services[service] })
	t.mu.Unlock()
	t.wake()
}
