package policy

import (
	"math/bits"
	"net/netip"
	"slices"
	"sync"
)

// Policy is all rules in force, compiled and immutable once it is published.
type Policy struct {
	Enabled  bool       // the global switch; false: everything is base
	Header   string     // name of the tag header
	Digest   string     // first 12 hex digits of the SHA-256 of the policy file and the lists it names
	Services []*Service // in the order of the file
	Rules    []*Rule    // in the order of the file
	Routes   []*Route   // of the gateway, the longest path first

	// FirstMatch is `decide: first-match`: a request that no rule has taken
	// goes on without a tag, and a later call of its chain may still be taken.
	FirstMatch bool
	// AcceptHeaders are further names of the tag header: read and taken off,
	// never written.
	AcceptHeaders []string
	// HeaderValues are the words that the tag header says for tags, where it does
	// not say the tag itself. Callers must not change the map.
	HeaderValues map[string]string
	// HeaderWords are the tags that words mean in the tag header: true, 1, false,
	// 0 and those of HeaderValues. What is in it is no tag, so that it means
	// nothing where no header stands. Callers must not change the map.
	HeaderWords map[string]string

	trust, untrusted []netip.Prefix
	tags             map[string]string // that rules and versions have, by themselves
	names            map[string]*Service
	hosts            hosts
	matches          []match // of all rules, in order
	sources          []source
	index            index
	readers          sync.Pool
}

// Trusts tells whether the tag that this peer hands over is believed: it is
// inside `trust` and not inside `untrusted`. IPv4 in IPv6 counts as IPv4. It
// does not allocate.
func (p *Policy) Trusts(peer netip.Addr) bool {
	return contains(p.trust, peer) && !contains(p.untrusted, peer)
}

// Intern returns a tag that the policy names as a shared string. It does not
// allocate.
func (p *Policy) Intern(tag []byte) (shared string, ok bool) {
	shared, ok = p.tags[string(tag)]
	return shared, ok
}

// Names tells whether a rule or a version of the policy has this tag; base and
// gray always count. It does not allocate.
func (p *Policy) Names(tag string) bool { return p.tags[tag] != "" }

// ServiceFor returns the service that claims the host as the caller named it,
// with its port if it had one, or nil. A full name wins over a wildcard, a
// longer wildcard over a shorter, then one with a port over one without. It
// does not allocate.
func (p *Policy) ServiceFor(named []byte) *Service {
	if p.hosts.services == nil {
		return nil
	}
	var a authority
	a.set(named)
	return p.hosts.find(&a)
}

// ServiceNamed returns the service with that name, or nil.
func (p *Policy) ServiceNamed(name string) *Service { return p.names[name] }

// Tag returns the tag that the rules give r and the rule that did: the first
// that takes it, in the order of the file. It returns Base and nil where none
// does, and where the policy is not enabled. It does not allocate.
func (p *Policy) Tag(r *Request) (tag string, rule *Rule) {
	if !p.Enabled || len(p.Rules) == 0 {
		return Base, nil
	}
	in := p.read(r)
	defer p.done(in)
	from := 0
	for _, f := range p.index.finders {
		// What was found above all that this source may find needs no look at it.
		if tag, rule := p.first(in, from, f.first); rule != nil {
			return tag, rule
		}
		from = f.first
		p.index.look(in, f.source)
	}
	if tag, rule := p.first(in, from, len(p.matches)); rule != nil {
		return tag, rule
	}
	return Base, nil
}

// first returns what the first rule gives that takes the request by a match that
// may hold, from <= match < to; nil: none does.
func (p *Policy) first(in *reader, from, to int) (tag string, rule *Rule) {
	if !in.found && !p.index.tries {
		return "", nil
	}
	for word := from / 64; word*64 < to; word++ {
		for set := in.bits[word] & window(from-word*64, to-word*64); set != 0; set &= set - 1 {
			m := &p.matches[word*64+bits.TrailingZeros64(set)]
			if m.rule == in.refused {
				continue
			}
			rule := p.Rules[m.rule]
			if !rule.active(in.request.Now) {
				in.refused = m.rule
				continue
			}
			if !m.rest(in) {
				continue
			}
			if d := rule.take(in); d.tag != "" {
				return d.tag, rule
			}
			in.refused = m.rule
		}
	}
	return "", nil
}

// window returns the bits from <= i < to of a word.
func window(from, to int) uint64 {
	set := ^uint64(0)
	if from > 0 {
		set <<= from
	}
	if to < 64 {
		set &= 1<<to - 1
	}
	return set
}

// read returns a reader for r, which done must be called with.
func (p *Policy) read(r *Request) *reader {
	in, ok := p.readers.Get().(*reader)
	if !ok {
		in = &reader{
			policy: p,
			cells:  make([]cell, len(p.sources)),
			bits:   slices.Clone(p.index.always),
		}
	}
	in.request, in.refused = *r, -1
	return in
}

func (p *Policy) done(in *reader) {
	in.reset()
	p.readers.Put(in)
}

// Bind sets the backend of every version to what f returns for it. It must be
// called before p is published.
func (p *Policy) Bind(f func(*Version) Backend) {
	for _, s := range p.Services {
		for _, v := range s.Versions {
			v.Backend = f(v)
		}
	}
}
