package policy

import "slices"

// none stands for no match in index.match.
const none = ^uint32(0)

// index finds the matches that may hold for a request without asking every
// rule: by what the request says, not by what the rules say. A decision costs
// one look-up for each source that rules name, plus the matches found.
type index struct {
	finders []finder // the one that finds the first match comes first
	match   []uint32 // by condition: the match that it finds, or none
	always  []uint64 // matches that nothing finds: they are always tried
	tries   bool     // there are such
}

// finder is a source that finds matches.
type finder struct {
	source int
	first  int // of the matches that it may find
}

// buildIndex picks for each match the condition that finds it.
func buildIndex(p *Policy, conds int) {
	x := index{match: slices.Repeat([]uint32{none}, conds), always: make([]uint64, (len(p.matches)+63)/64)}
	for i := range p.matches {
		m := &p.matches[i]
		m.found = finding(p, m)
		if m.found < 0 {
			x.always[i/64] |= 1 << (i % 64)
			x.tries = true
			continue
		}
		c := &m.conds[m.found]
		x.match[c.id] = uint32(i)
		if !slices.ContainsFunc(x.finders, func(f finder) bool { return f.source == c.source }) {
			x.finders = append(x.finders, finder{source: c.source, first: i})
		}
	}
	p.index = x
}

// finding returns the condition of m that tells most requests apart: a value
// before a part of one, a user's own data before method and host.
func finding(p *Policy, m *match) int {
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

// look sets the bits of the matches that source i finds in r.bits.
func (x *index) look(r *reader, i int) {
	c := r.get(i)
	if !c.ok {
		return
	}
	s := &r.policy.sources[i]
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

// value marks the matches that a value of s finds.
func (x *index) value(r *reader, s *source, value []byte) {
	if s.kind == ofHost {
		r.forms.start(&r.host)
		for form := r.forms.next(&s.exact.shapes); form != nil; form = r.forms.next(&s.exact.shapes) {
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
		r.found = true
	}
}
