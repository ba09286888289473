package policy

import "time"

func (c *compiler) rules(specs []RuleSpec, at place) {
	if len(specs) > maxRules {
		c.add(at, "%d rules, want at most %d", len(specs), maxRules)
		return
	}
	seen := make(map[string]bool, len(specs))
	for i := range specs {
		spec, item := &specs[i], at.item(i)
		c.name(spec.Name, item.key("name"))
		if seen[spec.Name] {
			c.add(item.key("name"), "a rule with this name is above")
		}
		seen[spec.Name] = true
		c.rule(spec, item)
	}
	if len(c.policy.matches) > maxMatches {
		c.add(at, "%d matches, want at most %d", len(c.policy.matches), maxMatches)
	}
}

func (c *compiler) rule(spec *RuleSpec, at place) {
	r := &Rule{Name: spec.Name, Tag: spec.Tag, Salt: spec.Salt}
	index := len(c.policy.Rules)
	c.policy.Rules = append(c.policy.Rules, r)
	if spec.Active != nil {
		c.active(r, spec.Active, at.key("active"))
	}
	c.ruleTag(spec, at)
	c.share(r, spec, at)
	r.first = len(c.policy.matches)
	if at.has("matches") && len(spec.Matches) == 0 {
		c.add(at.key("matches"), "an empty list, want a match: leave the key out to take every request")
	}
	for i := range spec.Matches {
		m := c.match(&spec.Matches[i], at.key("matches").item(i))
		m.rule = index
		c.policy.matches = append(c.policy.matches, m)
	}
	if len(spec.Matches) == 0 {
		c.policy.matches = append(c.policy.matches, match{rule: index, found: -1})
	}
	r.last = len(c.policy.matches)
}

// ruleTag checks that a rule says which tag it gives, once.
func (c *compiler) ruleTag(spec *RuleSpec, at place) {
	switch {
	case at.has("split"):
		for _, other := range [...]string{"tag", "percent", "ramp"} {
			if at.has(other) {
				c.add(at.key(other), "beside split, want one of them")
			}
		}
	case !at.has("tag"):
		c.add(at.key("tag"), "missing, want a tag (or split)")
	case c.tag(spec.Tag, at.key("tag")):
		c.policy.tags[spec.Tag] = spec.Tag
	}
}

func (c *compiler) active(r *Rule, spec *ActiveSpec, at place) {
	if spec.From == nil && spec.Until == nil {
		c.add(at, "neither from nor until, want one")
		return
	}
	if spec.From != nil {
		r.from = spec.From.Time
	}
	if spec.Until != nil {
		r.until = spec.Until.Time
	}
	if spec.From != nil && spec.Until != nil && !r.from.Before(r.until) {
		c.add(at.key("until"), "%s, want a time after from", r.until.Format(time.RFC3339))
	}
}

// share compiles percent, ramp or split, and what they stick to.
func (c *compiler) share(r *Rule, spec *RuleSpec, at place) {
	s := &r.share
	s.by = -1
	switch {
	case at.has("split"):
		c.split(s, spec.Split, at.key("split"))
	case at.has("percent") && at.has("ramp"):
		c.add(at.key("ramp"), "beside percent, want one of them")
	case spec.Percent != nil:
		s.kind, s.size = fixed, *spec.Percent
	case spec.Ramp != nil:
		s.kind = ramped
		c.ramp(&s.ramp, spec.Ramp, at.key("ramp"))
	default:
		for _, part := range [...]string{"by", "salt"} {
			if at.has(part) {
				c.add(at.key(part), "without a share, want percent, ramp or split beside it")
			}
		}
	}
	salt := spec.Name
	if at.has("salt") {
		c.name(spec.Salt, at.key("salt"))
		salt = spec.Salt
		if spec.By == nil {
			c.add(at.key("salt"), "without by: a random share has no use for it")
		}
	}
	s.salt = hash64(salt)
	if spec.By != nil {
		s.by = c.by(spec.By, at.key("by"))
	}
}

func (c *compiler) split(s *share, specs []PartSpec, at place) {
	s.kind = split
	const most = 100 // a part is a byte in a table of buckets
	if len(specs) == 0 || len(specs) > most {
		c.add(at, "%d parts, want 1 to %d", len(specs), most)
		return
	}
	sizes, sum := make([]Percent, len(specs)), Percent(0)
	seen := make(map[string]bool, len(specs))
	for i := range specs {
		part, item := &specs[i], at.item(i)
		if c.tag(part.Tag, item.key("tag")) {
			c.policy.tags[part.Tag] = part.Tag
		}
		if seen[part.Tag] {
			c.add(item.key("tag"), "%s has a part already", quote(part.Tag))
		}
		seen[part.Tag] = true
		s.tags = append(s.tags, part.Tag)
		if part.Percent != nil {
			sizes[i] = *part.Percent
			sum += *part.Percent
		}
	}
	if sum > whole {
		c.add(at, "%v percent together, want at most 100", sum)
		return
	}
	s.parts = partsOf(sizes)
}

func (c *compiler) ramp(r *ramp, spec *RampSpec, at place) {
	const longest = 10 * 366 * 24 * time.Hour // the share in milliseconds times 10,000 fits 64 bits
	r.step = 1
	if spec.From != nil {
		r.from = *spec.From
	}
	if spec.To != nil {
		r.to = *spec.To
	}
	if spec.Start != nil {
		r.start = spec.Start.Time
	}
	if spec.Over != nil {
		r.over = time.Duration(*spec.Over)
	}
	if spec.Over != nil && (r.over < time.Second || r.over > longest) {
		c.add(at.key("over"), "%v, want 1s to %v", r.over, longest)
	}
	if spec.Step != nil {
		r.step = *spec.Step
		if r.step == 0 {
			c.add(at.key("step"), "0, want at least 0.01")
		}
	}
}

// by returns the source that a share sticks to.
func (c *compiler) by(spec *BySpec, at place) int {
	var kinds []sourceKind
	var name, key string
	for _, one := range [...]struct {
		key, name string
		kind      sourceKind
		is        bool
	}{
		{"header", spec.Header, ofHeader, at.has("header")},
		{"cookie", spec.Cookie, ofCookie, at.has("cookie")},
		{"queryParam", spec.QueryParam, ofParam, at.has("queryParam")},
		{"jwtClaim", spec.JWTClaim, ofClaim, at.has("jwtClaim")},
		{"clientIP", "", ofPeer, at.has("clientIP")},
		{"traceID", "", ofTrace, at.has("traceID")},
	} {
		if one.is {
			kinds, name, key = append(kinds, one.kind), one.name, one.key
		}
	}
	if len(kinds) != 1 {
		c.add(at, "%d keys, want one of header, cookie, queryParam, jwtClaim, clientIP, traceID", len(kinds))
		return -1
	}
	if kinds[0] != ofPeer && kinds[0] != ofTrace {
		c.sourceName(kinds[0], name, at.key(key))
	}
	return c.source(kinds[0], name)
}
