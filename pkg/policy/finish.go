package policy

import "bytes"

// finish builds the dicts and the index from what the conditions name.
func (c *compiler) finish(root place) {
	if len(c.faults) > 0 {
		return
	}
	sizes := make(map[**dict]int)
	for i := range c.drafts {
		sizes[c.dict(&c.drafts[i])] += c.drafts[i].size()
	}
	for at, size := range sizes {
		*at = newDict(size)
	}
	for i := range c.drafts {
		d := &c.drafts[i]
		into := *c.dict(d)
		d.each(func(value []byte) { into.add(value, d.cond) })
	}
	for at := range sizes {
		(*at).seal()
		if (*at).full {
			c.add(root.key("rules"), "their values overlap in more than %d ways, want fewer rules that share values", listMask)
		}
	}
	c.presence(c.policy.matches)
	buildIndex(c.policy, c.conds)
}

// dict returns where the dict for these values is kept.
func (c *compiler) dict(d *draft) **dict {
	s := &c.policy.sources[d.source]
	switch d.op {
	case startsWith:
		return &s.prefixes
	case endsWith:
		return &s.suffixes
	case isBelow:
		return &s.segments
	}
	return &s.exact
}

// presence tells each source which conditions want any value of it.
func (c *compiler) presence(matches []match) {
	for i := range matches {
		for j := range matches[i].conds {
			cond := &matches[i].conds[j]
			if cond.op == isPresent {
				s := &c.policy.sources[cond.source]
				s.present = append(s.present, cond.id)
			}
		}
	}
}

func (d *draft) size() int {
	n := len(d.values)
	for _, data := range d.lists {
		n += bytes.Count(data, newline) + 1
	}
	return n
}

func (d *draft) each(use func(value []byte)) {
	for _, v := range d.values {
		use([]byte(v))
	}
	for _, data := range d.lists {
		lines(data, use)
	}
}
