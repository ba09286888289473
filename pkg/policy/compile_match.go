package policy

import "strings"

// draft is the values that a condition names, before the dict of its source
// is built.
type draft struct {
	cond   uint32
	op     op
	source int
	values []string
	lists  [][]byte // values one a line
}

// match compiles the conditions of one match.
func (c *compiler) match(spec *MatchSpec, at place) match {
	m := match{found: -1}
	if at.has("method") {
		m.conds = append(m.conds, c.method(spec.Method, at.key("method")))
	}
	if spec.Path != nil {
		m.conds = append(m.conds, c.path(spec.Path, at.key("path")))
	}
	if at.has("hosts") {
		m.conds = append(m.conds, c.hostMatch(spec.Hosts, at.key("hosts")))
	}
	m.conds = append(m.conds, c.values(ofHeader, spec.Headers, at.key("headers"))...)
	m.conds = append(m.conds, c.values(ofParam, spec.QueryParams, at.key("queryParams"))...)
	m.conds = append(m.conds, c.values(ofCookie, spec.Cookies, at.key("cookies"))...)
	m.conds = append(m.conds, c.values(ofClaim, spec.JWTClaims, at.key("jwtClaims"))...)
	if at.has("sourceIPs") {
		m.conds = append(m.conds, c.peer(spec.SourceIPs, at.key("sourceIPs")))
	}
	if spec.Not != nil {
		inner := c.match(spec.Not, at.key("not"))
		m.conds = append(m.conds, cond{op: doesNotHold, not: &inner, text: "not (" + inner.text() + ")"})
	}
	if at.isEmpty() {
		c.add(at, "no condition, want at least one: leave matches out to take every request")
	}
	return m
}

// text shows the match as one line.
func (m *match) text() string {
	if len(m.conds) == 0 {
		return "every request"
	}
	texts := make([]string, len(m.conds))
	for i := range m.conds {
		texts[i] = m.conds[i].text
	}
	return strings.Join(texts, " and ")
}

// cond returns a new condition on a source.
func (c *compiler) cond(op op, source int, text string) cond {
	c.conds++
	return cond{op: op, id: uint32(c.conds - 1), source: source, text: text}
}

func (c *compiler) draft(of *cond, values []string, lists [][]byte) {
	c.drafts = append(c.drafts, draft{cond: of.id, op: of.op, source: of.source, values: values, lists: lists})
}

func (c *compiler) method(method string, at place) cond {
	if !isToken(method) || method != strings.ToUpper(method) {
		c.add(at, "%s, want a method such as GET", quote(method))
	}
	cond := c.cond(isOneOf, c.source(ofMethod, ""), "method is "+method)
	c.draft(&cond, []string{method}, nil)
	return cond
}

func (c *compiler) path(spec *PathSpec, at place) cond {
	value := at.key("value")
	src := c.source(ofPath, "")
	if spec.Type == "RegularExpression" {
		cond := c.cond(looksLike, src, "path is like "+spec.Value)
		cond.patterns = c.expressions([]string{spec.Value}, []place{value})
		return cond
	}
	if normal := string(normalPath(nil, []byte(spec.Value))); !strings.HasPrefix(spec.Value, "/") {
		c.add(value, "%s, want a path that starts with /", quote(spec.Value))
	} else if normal != spec.Value {
		c.add(value, "%s never matches, since paths are normalised first: want %s", quote(spec.Value), quote(normal))
	}
	c.length(spec.Value, value)
	if spec.Type == "Exact" {
		cond := c.cond(isOneOf, src, "path is "+spec.Value)
		c.draft(&cond, []string{spec.Value}, nil)
		return cond
	}
	cond := c.cond(isBelow, src, "path is below "+spec.Value)
	prefix := spec.Value
	if len(prefix) > 1 {
		prefix = strings.TrimSuffix(prefix, "/")
	}
	c.draft(&cond, []string{prefix}, nil)
	return cond
}

func (c *compiler) hostMatch(written []string, at place) cond {
	c.some(len(written), at)
	forms := make([]string, 0, len(written))
	for i, text := range written {
		form, err := parseHost(text)
		if err != nil {
			c.add(at.item(i), "%s, %v", quote(text), err)
			continue
		}
		forms = append(forms, form)
	}
	cond := c.cond(isHost, c.source(ofHost, ""), "host is "+strings.Join(forms, " or "))
	c.draft(&cond, forms, nil)
	return cond
}

func (c *compiler) peer(written []string, at place) cond {
	c.some(len(written), at)
	return cond{op: comesFrom, nets: c.nets(written, at), text: "peer is in " + strings.Join(written, ", ")}
}

// some checks that a list is not empty.
func (c *compiler) some(length int, at place) {
	if length == 0 {
		c.add(at, "an empty list, want at least one")
	}
}
