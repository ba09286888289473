package policy

import (
	"fmt"
	"strings"
	"time"
)

// explainRules asks the rules as Tag does, but all of them up to the one that
// takes the request.
func (p *Policy) explainRules(e *Explanation, r *Request) {
	in := p.read(r)
	defer p.done(in)
	for i, rule := range p.Rules {
		tag, why := p.explainRule(rule, in)
		e.Steps = append(e.Steps, why)
		if tag != "" {
			e.Tag, e.Rule = tag, rule.Name
			if i < len(p.Rules)-1 {
				e.step("the rules below it are not asked")
			}
			return
		}
	}
	e.Tag = Base
	if p.FirstMatch {
		e.step("no rule takes it: it is routed as base and goes on without a tag, a later call of the chain may decide (decide: first-match)")
		return
	}
	e.step("no rule takes it: tag base, for the whole chain")
}

// explainRule returns the tag that the rule gives, "" where it does not take
// the request, and why.
func (p *Policy) explainRule(rule *Rule, in *reader) (tag string, why *Step) {
	why = &Step{What: "rule " + rule.Name + " does not take it"}
	switch {
	case !rule.active(in.request.Now):
		why.detail("it is not active at %s%s", in.request.Now.Format(time.RFC3339), rule.period())
	case p.explainMatches(why, rule, in):
		tag = p.explainShare(why, rule, in)
	}
	if tag != "" {
		why.What = "rule " + rule.Name + " takes it: tag " + tag
	}
	return tag, why
}

// period shows when a rule is active.
func (r *Rule) period() string {
	var b strings.Builder
	if !r.from.IsZero() {
		b.WriteString(", but from " + r.from.Format(time.RFC3339))
	}
	if !r.until.IsZero() {
		b.WriteString(", but until " + r.until.Format(time.RFC3339))
	}
	return b.String()
}

// explainMatches looks for a match of the rule that holds.
func (p *Policy) explainMatches(s *Step, rule *Rule, in *reader) bool {
	for i := rule.first; i < rule.last; i++ {
		m := &p.matches[i]
		if len(m.conds) == 0 {
			s.detail("no matches are written: every request matches")
			return true
		}
		holds := m.holds(in)
		s.detail("match %d: %s", i-rule.first+1, m.explain(in))
		if holds {
			return true
		}
	}
	return false
}

// explain shows the conditions of m up to the first that does not hold.
func (m *match) explain(in *reader) string {
	var parts []string
	for i := range m.conds {
		c := &m.conds[i]
		holds := c.holds(in)
		verdict := "no"
		if holds {
			verdict = "yes"
		}
		parts = append(parts, fmt.Sprintf("%s? %s, %s", c.text, verdict, c.found(in)))
		if !holds {
			break
		}
	}
	return strings.Join(parts, "; ")
}

// found shows what the request has where c looks.
func (c *cond) found(in *reader) string {
	switch c.op {
	case comesFrom:
		return fmt.Sprintf("it is %v", in.request.Peer)
	case doesNotHold:
		return "since " + c.not.explain(in)
	}
	value := in.get(c.source)
	switch {
	case !value.ok:
		return "there is none"
	case value.list:
		texts := make([]string, len(value.more))
		for i, element := range value.more {
			texts[i] = quote(string(element))
		}
		return "it is a list: " + strings.Join(texts, ", ")
	}
	return "it is " + quote(string(value.value))
}

// explainShare asks the share of a rule that matches.
func (p *Policy) explainShare(s *Step, rule *Rule, in *reader) string {
	d := rule.take(in)
	share := &rule.share
	if share.kind == everything {
		return d.tag
	}
	place := "outside"
	if d.tag != "" {
		place = "inside"
	}
	size := share.text(in.request.Now)
	if share.by < 0 {
		s.detail("%s at random: bucket %.2f of 100 this time, %s", size, float64(d.bucket)/100, place)
		return d.tag
	}
	key := p.sources[share.by].String()
	if !d.keyed {
		s.detail("%s by %s: there is none, so the rule does not match", size, key)
		return ""
	}
	value := quote(string(in.get(share.by).value))
	s.detail("%s by %s: %s is in bucket %.2f of 100, %s", size, key, value, float64(d.bucket)/100, place)
	return d.tag
}

// text shows the share as it is at that time.
func (s *share) text(now time.Time) string {
	switch s.kind {
	case ramped:
		return fmt.Sprintf("share %v %% at %s", s.at(now), now.Format(time.RFC3339))
	case split:
		return "parts " + strings.Join(s.splitTexts(), ", ")
	}
	return fmt.Sprintf("share %v %%", s.at(now))
}

// splitTexts shows each part of a split with its size.
func (s *share) splitTexts() []string {
	sizes := make([]Percent, len(s.tags))
	for _, part := range s.parts {
		if part != noPart {
			sizes[part]++
		}
	}
	texts := make([]string, len(s.tags))
	for i, tag := range s.tags {
		texts[i] = fmt.Sprintf("%s %v %%", tag, sizes[i])
	}
	return texts
}
