package upstream

import (
	"bytes"
	"cmp"
	"slices"
	"sync/atomic"

	"graylane/internal/http1"
)

// Table is every endpoint in use. It is safe for concurrent use, but for
// generations, of which one is made at a time.
type Table struct {
	cfg     http1.OriginConfig
	origins origins
	inUse   atomic.Pointer[Generation]
}

// NewTable returns an empty table, which sends with the settings of cfg.
func NewTable(cfg http1.OriginConfig) *Table {
	t := &Table{cfg: cfg}
	t.origins.cfg = cfg
	t.inUse.Store(&Generation{table: t})
	return t
}

// Generation is the groups that belong to one policy.
type Generation struct {
	table     *Table
	groups    []*Group
	endpoints map[string]*Endpoint // by address
}

// Begin starts the generation of a new policy. The caller adds its groups,
// publishes the policy, and then calls Commit.
func (t *Table) Begin() *Generation {
	return &Generation{table: t, endpoints: make(map[string]*Endpoint)}
}

// Group adds the version of a service that has the tag. An address is host:port,
// or host alone, which keeps the port that the caller named.
func (g *Generation) Group(service, tag string, addresses []string) *Group {
	group := &Group{service: service, tag: tag, cursor: new(atomic.Uint64)}
	old := g.table.inUse.Load()
	if before := old.find(service, tag); before != nil {
		group.cursor = before.cursor
	}
	for _, address := range addresses {
		ep := cmp.Or(g.endpoints[address], old.endpoints[address])
		if ep == nil {
			ep = newEndpoint(address, g.table)
		}
		g.endpoints[address] = ep
		group.endpoints = append(group.endpoints, ep)
	}
	g.groups = append(g.groups, group)
	return group
}

// Commit puts the generation in use, once its policy is in force, and closes the
// idle connections of the addresses that it no longer has. Requests that began
// under the policy before finish under it.
func (g *Generation) Commit() {
	old := g.table.inUse.Swap(g)
	for address, ep := range old.endpoints {
		if g.endpoints[address] == nil {
			ep.retire()
		}
	}
}

func (g *Generation) find(service, tag string) *Group {
	for _, group := range g.groups {
		if group.service == service && group.tag == tag {
			return group
		}
	}
	return nil
}

// Stranger returns the origin of an authority that no service claims, on port 80
// where it names none. The authority is not kept, and strangers that nobody asks
// for are forgotten.
func (t *Table) Stranger(authority []byte) *http1.Origin {
	if portAt(authority) >= 0 {
		return t.origins.get(authority)
	}
	var scratch [maxAuthority]byte
	host := bytes.TrimSuffix(authority, []byte(":")) // an empty port is no port (RFC 3986, section 3.2.3)
	return t.origins.get(appendPort(append(scratch[:0], host...), nil))
}

// Status is what is known of one endpoint of one version.
type Status struct {
	Service  string `json:"service"`
	Tag      string `json:"tag"`
	Address  string `json:"address"`
	InFlight int64  `json:"inFlight"` // requests now
	Requests uint64 `json:"requests"` // since the address is known
	Failures uint64 `json:"failures"` // of these: not answered by the endpoint
}

// Status lists the endpoints in use, by service, tag and address.
func (t *Table) Status() []Status {
	list := []Status{} // not nil: JSON shows an empty list
	for _, group := range t.inUse.Load().groups {
		for _, ep := range group.endpoints {
			list = append(list, Status{
				Service: group.service, Tag: group.tag, Address: ep.Address,
				InFlight: ep.inFlight.Load(), Requests: ep.requests.Load(), Failures: ep.failures.Load(),
			})
		}
	}
	slices.SortStableFunc(list, func(a, b Status) int {
		return cmp.Or(cmp.Compare(a.Service, b.Service), cmp.Compare(a.Tag, b.Tag), cmp.Compare(a.Address, b.Address))
	})
	return list
}
