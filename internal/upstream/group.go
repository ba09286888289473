package upstream

import "sync/atomic"

// Group is the endpoints of one version, fixed for the life of its policy.
type Group struct {
	service, tag string
	endpoints    []*Endpoint
	cursor       *atomic.Uint64 // shared by the generations of this version
}

// Counts returns how many endpoints the version has, and how many of them may
// be used now.
func (g *Group) Counts() (total, usable int) { return len(g.endpoints), len(g.endpoints) }

// Pick starts one walk over the endpoints, at the next one of the round.
func (g *Group) Pick() Pick {
	return Pick{group: g, start: g.cursor.Add(1) - 1}
}

// Pick is one request's walk over a group: the endpoint whose turn it is, and
// after that the others, for as long as none can be reached.
type Pick struct {
	group *Group
	start uint64
	tried uint64
}

// Next returns the next endpoint to try, nil after each was returned once.
func (p *Pick) Next() *Endpoint {
	n := uint64(len(p.group.endpoints))
	if p.tried == n {
		return nil
	}
	ep := p.group.endpoints[(p.start+p.tried)%n]
	p.tried++
	return ep
}
