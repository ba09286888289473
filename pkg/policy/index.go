package policy

import "slices"

// none stands for no match in index.match.
const none = ^uint32(0)

// index finds the matches that may hold for a request without asking every
// rule: by what the request says, not by what the rules say. A decision costs
// one look-up for each source that rules name, plus the matches found.
type index struct {
	sources []int    // those that find a match
	match   []uint32 // by condition: the match that it finds, or none
	always  []uint64 // matches that nothing finds: they are always tried
}

// buildIndex picks for each match the condition that finds it.
func buildIndex(p *Policy, conds int) {
	x := index{match: slices.Repeat([]uint32{none}, conds), always: make([]uint64, (len(p.matches)+63)/64)}
	for i := range p.matches {
		m := &p.matches[i]
		m.found = finder(p, m)
		if m.found < 0 {
			x.always[i/64] |= 1 << (i % 64)
			continue
		}
		c := &m.conds[m.found]
		x.match[c.id] = uint32(i)
		if !slices.Contains(x.sources, c.source) {
			x.sources = append(x.sources, c.source)
		}
	}
	p.index = x
}

// finder returns the condition of m that tells most requests apart: a value
// before a part of one, a user's own data before method and host.
func finder(p *Policy, m *match) int {
	best, rank := -1, 0
	for i := range m.conds {
		if r := m.conds[i].rank(p.sources); r > rank {
			best, rank = i, r
		}
	}
	return best
}

func (c *cond) rank(sources []source) int {
	switch c.op {
	case isOneOf:
		switch sources[c.source].kind {
		case ofMethod:
			return 1
		case ofPath:
			return 5
		}
		return 6
	case startsWith, endsWith:
		return 4
	case isBelow:
		return 3
	case isHost, isPresent:
		return 2
	}
	return 0
}

// candidates sets the bit of every match that may hold in r.bits.
func (x *index) candidates(r *reader) {
	copy(r.bits, x.always)
	for _, i := range x.sources {
		s := &r.policy.sources[i]
		c := r.get(i)
		if !c.ok {
			continue
		}
		for _, id := range s.present {
			x.hit(r, id)
		}
		if !c.list {
			x.value(r, s, c.value)
		}
		for _, element := range c.more {
			x.value(r, s, element)
		}
	}
}

// value marks the matches that a value of s finds.
func (x *index) value(r *reader, s *source, value []byte) {
	if s.kind == ofHost {
		r.forms.start(&r.host)
		for form := r.forms.next(); form != nil; form = r.forms.next() {
			x.hits(r, s.exact, form)
		}
		return
	}
	if s.exact != nil {
		x.hits(r, s.exact, value)
	}
	if s.prefixes != nil {
		for _, n := range s.prefixes.lengths {
			if n <= len(value) {
				x.hits(r, s.prefixes, value[:n])
			}
		}
	}
	if s.suffixes != nil {
		for _, n := range s.suffixes.lengths {
			if n <= len(value) {
				x.hits(r, s.suffixes, value[len(value)-n:])
			}
		}
	}
	if s.segments != nil {
		for form := below(value, nil); form != nil; form = below(value, form) {
			x.hits(r, s.segments, form)
		}
	}
}

func (x *index) hits(r *reader, d *dict, value []byte) {
	for at := d.find(value); at != 0; at = d.links[at].next {
		x.hit(r, d.links[at].cond)
	}
}

func (x *index) hit(r *reader, cond uint32) {
	if m := x.match[cond]; m != none {
		r.bits[m/64] |= 1 << (m % 64)
	}
}
