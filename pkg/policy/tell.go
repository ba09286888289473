package policy

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// Trust returns the networks whose callers are believed, and those inside of them
// that are not.
func (p *Policy) Trust() (trust, untrusted []netip.Prefix) {
	return slices.Clone(p.trust), slices.Clone(p.untrusted)
}

// Tags lists the tags that rules and versions of the policy have, base and gray
// included, in order.
func (p *Policy) Tags() []string { return slices.Sorted(maps.Keys(p.tags)) }

// Takes tells on one line which requests the rule matches and when it is active,
// for people: "path is /a and header X is 1, or cookie b is there".
func (p *Policy) Takes(rule *Rule) string {
	const enough = 10 // more is read in the file
	var texts []string
	for i := rule.first; i < min(rule.last, rule.first+enough); i++ {
		texts = append(texts, p.matches[i].text())
	}
	if more := rule.last - rule.first - enough; more > 0 {
		texts = append(texts, fmt.Sprintf("%d more matches", more))
	}
	return strings.Join(texts, ", or ") + rule.period()
}

// Share tells how many of the requests that the rule matches it takes at that
// time, and by which key, for people; "" where it takes them all.
func (p *Policy) Share(rule *Rule, now time.Time) string {
	s := &rule.share
	switch {
	case s.kind == everything:
		return ""
	case s.by < 0:
		return s.text(now) + " at random"
	}
	return s.text(now) + " by " + p.sources[s.by].String()
}

// BalanceKey tells by what the requests of s are balanced, for people; "" where that
// is nothing of the request.
func (p *Policy) BalanceKey(s *Service) string {
	if s.Balance.by < 0 {
		return ""
	}
	return p.sources[s.Balance.by].String()
}

// Except returns the paths, and the networks of callers, whose requests are for every
// pod.
func (g *Guard) Except() (paths []string, peers []netip.Prefix) {
	for _, path := range g.paths {
		paths = append(paths, cmp.Or(path, "/"))
	}
	return paths, slices.Clone(g.peers)
}
