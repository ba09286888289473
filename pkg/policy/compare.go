package policy

import (
	"cmp"
	"iter"
	"math/rand/v2"
	"slices"
)

// Comparison is what two policies make of the same requests.
type Comparison struct {
	Requests int       `json:"requests"`
	Changed  int       `json:"changed"`
	Changes  []*Change `json:"changes,omitempty"` // the most frequent first
}

// Change is one way in which the answers differ.
type Change struct {
	Count    int       `json:"count"`
	Before   Answer    `json:"before"`
	After    Answer    `json:"after"`
	Examples []*Sample `json:"examples"` // at most three
}

// Compare asks both policies about every request. A share without a key rolls
// the same for both.
func Compare(before, after *Policy, requests iter.Seq[*Sample]) *Comparison {
	const examples = 3 // enough to see the kind
	c := new(Comparison)
	changes := make(map[[2]Answer]*Change)
	for s := range requests {
		c.Requests++
		was, is := before.answer(s, c.Requests), after.answer(s, c.Requests)
		if was == is {
			continue
		}
		c.Changed++
		change := changes[[2]Answer{was, is}]
		if change == nil {
			change = &Change{Before: was, After: is}
			changes[[2]Answer{was, is}] = change
			c.Changes = append(c.Changes, change)
		}
		change.Count++
		if len(change.Examples) < examples {
			change.Examples = append(change.Examples, s)
		}
	}
	slices.SortStableFunc(c.Changes, func(a, b *Change) int { return cmp.Compare(b.Count, a.Count) })
	return c
}

// answer tells what p makes of s. Random shares depend on seed alone.
func (p *Policy) answer(s *Sample, seed int) Answer {
	a := Answer{Tag: s.Tag, Reason: PassThrough.String()}
	r := s.Request()
	r.Rand = rand.New(rand.NewPCG(uint64(seed), 0)).Uint64
	if a.Tag == "" || !p.Enabled {
		var rule *Rule
		if a.Tag, rule = p.Tag(r); rule != nil {
			a.Rule = rule.Name
		}
	}
	if service := p.ServiceFor(r.Host); service != nil {
		d := service.Decide(a.Tag)
		a.Service, a.Reason = service.Name, d.Reason.String()
		if d.Version != nil {
			a.Version = d.Version.Tag
		}
	}
	return a
}
