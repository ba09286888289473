package policy

import (
	"encoding/binary"
	"fmt"
	"iter"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// Generate returns n requests that try what the rules of two policies
// ask for: each match of each rule, the values that they name, values that
// nobody names, and the moments when rules begin and end. The same policies
// give the same requests.
func Generate(before, after *Policy, n int) iter.Seq[*Sample] {
	return func(yield func(*Sample) bool) {
		if n <= 0 {
			return
		}
		g, count := newGenerator(before, after), 0
		for s := range g.all() {
			if count++; !yield(s) || count == n {
				return
			}
		}
	}
}

type generator struct {
	rand     *rand.Rand
	policies []*Policy
	examples []map[uint32][]string // by policy: some values of each condition
	hosts    []string
	times    []time.Time
}

func newGenerator(policies ...*Policy) *generator {
	g := &generator{rand: rand.New(rand.NewPCG(1, 2)), policies: policies, hosts: []string{"unknown.example.com"}}
	g.times = []time.Time{time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)}
	for _, p := range policies {
		g.examples = append(g.examples, p.examples())
		for _, s := range p.Services {
			for _, host := range s.Hosts {
				g.hosts = append(g.hosts, strings.Replace(host, "*", "any", 1))
			}
		}
		for _, r := range p.Rules {
			g.moments(r)
		}
	}
	return g
}

// moments notes when something changes by the clock.
func (g *generator) moments(r *Rule) {
	for _, at := range []time.Time{r.from, r.until, r.share.ramp.start, r.share.ramp.start.Add(r.share.ramp.over)} {
		if at.Year() > 1 {
			g.times = append(g.times, at.Add(-time.Second), at)
		}
	}
	if r.share.kind == ramped {
		g.times = append(g.times, r.share.ramp.start.Add(r.share.ramp.over/2))
	}
}

// all returns a request for each match, one for each value that a condition
// names, and then random ones without end.
func (g *generator) all() iter.Seq[*Sample] {
	return func(yield func(*Sample) bool) {
		for i, p := range g.policies {
			for m := range p.matches {
				if !yield(g.matching(i, &p.matches[m])) {
					return
				}
			}
		}
		for _, p := range g.policies {
			for i := range p.sources {
				for value := range p.sources[i].exact.some(1000) {
					s := g.random()
					s.set(&p.sources[i], string(value))
					if !yield(s) {
						return
					}
				}
			}
		}
		for yield(g.either()) {
		}
	}
}

// either returns a random request, or one that a random match asks for.
func (g *generator) either() *Sample {
	i := g.rand.IntN(len(g.policies))
	if matches := g.policies[i].matches; len(matches) > 0 && g.rand.IntN(2) == 0 {
		return g.matching(i, &matches[g.rand.IntN(len(matches))])
	}
	return g.random()
}

// random returns a request with random values where rules look.
func (g *generator) random() *Sample {
	s := &Sample{
		Time:    g.times[g.rand.IntN(len(g.times))],
		Method:  "GET",
		Host:    g.hosts[g.rand.IntN(len(g.hosts))],
		Path:    "/",
		Peer:    netip.AddrFrom4([4]byte{10, byte(g.rand.Uint32()), byte(g.rand.Uint32()), byte(g.rand.Uint32())}),
		TraceID: fmt.Sprintf("%016x%016x", g.rand.Uint64(), g.rand.Uint64()),
	}
	for _, p := range g.policies {
		for i := range p.sources {
			if source := &p.sources[i]; source.kind >= ofHeader && source.kind <= ofClaim && g.rand.IntN(2) == 0 {
				s.set(source, g.id())
			}
		}
	}
	return s
}

func (g *generator) id() string { return fmt.Sprintf("id%d", g.rand.IntN(1_000_000)) }

// matching returns a request that fulfils the conditions of m, as far as values
// can be told from them.
func (g *generator) matching(policy int, m *match) *Sample {
	s := g.random()
	p := g.policies[policy]
	for i := range m.conds {
		c := &m.conds[i]
		if c.op == comesFrom {
			s.Peer = c.nets[g.rand.IntN(len(c.nets))].Addr()
		}
		values := g.examples[policy][c.id]
		if len(values) == 0 || c.op == comesFrom || c.op == doesNotHold {
			continue
		}
		value := values[g.rand.IntN(len(values))]
		switch c.op {
		case startsWith:
			value += g.id()
		case endsWith:
			value = g.id() + value
		case isBelow:
			value = strings.TrimSuffix(value, "/") + "/" + g.id()
		case isHost:
			value = strings.Replace(value, "*", "any", 1)
		}
		s.set(&p.sources[c.source], value)
	}
	return s
}

// set makes source say value in s.
func (s *Sample) set(source *source, value string) {
	switch source.kind {
	case ofMethod:
		s.Method = value
	case ofHost:
		s.Host = value
	case ofPath:
		s.Path = value
	case ofHeader:
		put(&s.Headers, source.name, value)
	case ofParam:
		put(&s.QueryParams, source.name, value)
	case ofCookie:
		put(&s.Cookies, source.name, value)
	case ofClaim:
		put(&s.Claims, source.name, any(value))
	}
}

// examples returns some values of each condition.
func (p *Policy) examples() map[uint32][]string {
	const enough = 3
	found := make(map[uint32][]string)
	for i := range p.sources {
		s := &p.sources[i]
		for _, d := range [...]*dict{s.exact, s.prefixes, s.suffixes, s.segments} {
			for value := range d.some(1_000_000) {
				for at := d.find(value); at != 0; at = d.links[at].next {
					if cond := d.links[at].cond; len(found[cond]) < enough {
						found[cond] = append(found[cond], string(value))
					}
				}
			}
		}
		for _, cond := range s.present {
			found[cond] = []string{"any"}
		}
	}
	return found
}

// some returns up to about most values, evenly from the first to the last that
// was added.
func (d *dict) some(most int) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		if d == nil {
			return
		}
		every := d.count/most + 1
		for at, i := 0, 0; at < len(d.arena); i++ {
			n, width := binary.Uvarint(d.arena[at:])
			value := d.arena[at+width : at+width+int(n)]
			if i%every == 0 && !yield(slices.Clip(value)) {
				return
			}
			at += width + int(n)
		}
	}
}
