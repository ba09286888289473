package policy

import (
	"net/netip"
	"regexp"
	"slices"
)

// cond is one condition of a match.
type cond struct {
	op     op
	id     uint32 // its name in the dicts of its source
	source int    // index of what it reads
	text   string // as a policy would write it, for people

	patterns []*regexp.Regexp
	nets     []netip.Prefix
	not      *match
}

type op uint8

const (
	isOneOf     op = iota // the value is one of the condition's
	startsWith            // it starts with one of them
	endsWith              // it ends with one of them
	isBelow               // a path: it is one of them, or below one
	isHost                // a host: one of them names it
	isPresent             // there is a value
	looksLike             // a regular expression fits the whole of it
	comesFrom             // the peer is inside a network
	doesNotHold           // another match does not hold
)

// holds tells whether the request that r reads fulfils c.
func (c *cond) holds(r *reader) bool {
	switch c.op {
	case comesFrom:
		return contains(c.nets, r.request.Peer)
	case doesNotHold:
		return !c.not.holds(r)
	}
	value := r.get(c.source)
	if !value.ok {
		return false
	}
	if !value.list {
		return c.fits(r, value.value)
	}
	for _, element := range value.more {
		if c.fits(r, element) {
			return true
		}
	}
	return false
}

func (c *cond) fits(r *reader, value []byte) bool {
	s := &r.policy.sources[c.source]
	switch c.op {
	case isPresent:
		return true
	case isOneOf:
		return s.exact.names(value, c.id)
	case startsWith:
		return c.anyLength(s.prefixes, value, prefix)
	case endsWith:
		return c.anyLength(s.suffixes, value, suffix)
	case isBelow:
		for form := below(value, nil); form != nil; form = below(value, form) {
			if s.segments.names(form, c.id) {
				return true
			}
		}
	case isHost:
		r.forms.start(&r.host)
		for form := r.forms.next(&s.exact.shapes); form != nil; form = r.forms.next(&s.exact.shapes) {
			if s.exact.names(form, c.id) {
				return true
			}
		}
	case looksLike:
		return slices.ContainsFunc(c.patterns, func(p *regexp.Regexp) bool { return p.Match(value) })
	}
	return false
}

// anyLength looks for the parts of value that have the length of some value
// of d.
func (c *cond) anyLength(d *dict, value []byte, cut func(value []byte, n int) []byte) bool {
	for _, n := range d.lengths {
		if n > len(value) {
			return false
		}
		if d.names(cut(value, n), c.id) {
			return true
		}
	}
	return false
}

func prefix(value []byte, n int) []byte { return value[:n] }

func suffix(value []byte, n int) []byte { return value[len(value)-n:] }

// below returns the paths that path is or is below, one after the other, the
// shortest first, from `/` to path without its last slash: each call gets what
// the last one returned, nil at first. It returns nil after the last.
func below(path, last []byte) []byte {
	if len(path) == 0 || path[0] != '/' {
		return nil
	}
	if last == nil {
		return path[:1]
	}
	for i := max(len(last), 2); i <= len(path); i++ {
		if i > len(last) && (i == len(path) || path[i] == '/') && path[i-1] != '/' {
			return path[:i]
		}
	}
	return nil
}

// contains tells whether addr is inside one of nets. IPv4 in IPv6 counts as
// IPv4.
func contains(nets []netip.Prefix, addr netip.Addr) bool {
	addr = addr.Unmap().WithZone("")
	for _, n := range nets {
		if n.Contains(addr) {
			return true
		}
	}
	return false
}

// match is a set of conditions that must all hold.
type match struct {
	rule  int // index of the rule
	conds []cond
	// found is the condition by which the policy's index finds the match, -1
	// for a match that is always tried.
	found int
}

// holds tells whether all conditions hold.
func (m *match) holds(r *reader) bool {
	for i := range m.conds {
		if !m.conds[i].holds(r) {
			return false
		}
	}
	return true
}

// rest tells whether the conditions other than the one that found m hold.
func (m *match) rest(r *reader) bool {
	for i := range m.conds {
		if i != m.found && !m.conds[i].holds(r) {
			return false
		}
	}
	return true
}
