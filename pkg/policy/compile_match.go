package policy

import (
	"bytes"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
)

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
	if spec.Method != "" || at.has("method") {
		if !isToken(spec.Method) || spec.Method != strings.ToUpper(spec.Method) {
			c.add(at.key("method"), "%s, want a method such as GET", quote(spec.Method))
		}
		cond := c.cond(isOneOf, c.source(ofMethod, ""), "method is "+spec.Method)
		c.draft(&cond, []string{spec.Method}, nil)
		m.conds = append(m.conds, cond)
	}
	if spec.Path != nil {
		m.conds = append(m.conds, c.path(spec.Path, at.key("path")))
	}
	if at.has("hosts") {
		m.conds = append(m.conds, c.hostMatch(spec.Hosts, at.key("hosts")))
	}
	for _, group := range [...]struct {
		key   string
		kind  sourceKind
		specs []ValueSpec
	}{
		{"headers", ofHeader, spec.Headers},
		{"queryParams", ofParam, spec.QueryParams},
		{"cookies", ofCookie, spec.Cookies},
		{"jwtClaims", ofClaim, spec.JWTClaims},
	} {
		if at.has(group.key) && len(group.specs) == 0 {
			c.add(at.key(group.key), "an empty list, want at least one")
		}
		for i := range group.specs {
			m.conds = append(m.conds, c.value(group.kind, &group.specs[i], at.key(group.key).item(i)))
		}
	}
	if at.has("sourceIPs") {
		if len(spec.SourceIPs) == 0 {
			c.add(at.key("sourceIPs"), "an empty list, want at least one")
		}
		m.conds = append(m.conds, cond{
			op:   comesFrom,
			nets: c.nets(spec.SourceIPs, at.key("sourceIPs")),
			text: "source IP in " + strings.Join(spec.SourceIPs, ", "),
		})
	}
	if spec.Not != nil {
		inner := c.match(spec.Not, at.key("not"))
		m.conds = append(m.conds, cond{op: doesNotHold, not: &inner, text: "not (" + inner.text() + ")"})
	}
	if len(m.conds) == 0 && at.isEmpty() {
		c.add(at, "no condition, want at least one: leave matches out to take every request")
	}
	return m
}

// text shows the match as one line.
func (m *match) text() string {
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

// source returns the index of a source, the same for the same thing.
func (c *compiler) source(kind sourceKind, name string) int {
	key := sourceKey{kind, name}
	if kind == ofHeader {
		key.name = strings.ToLower(name)
	}
	at, known := c.sources[key]
	if !known {
		at = len(c.policy.sources)
		c.sources[key] = at
		c.policy.sources = append(c.policy.sources, source{kind: kind, name: name})
	}
	return at
}

type sourceKey struct {
	kind sourceKind
	name string
}

// sourceName checks the name of a header, cookie, parameter or claim.
func (c *compiler) sourceName(kind sourceKind, name string, at place) {
	switch {
	case (kind == ofHeader || kind == ofCookie) && !isToken(name):
		c.add(at, "%s, want the name of a %s", quote(name), kind)
	case !printable(name):
		c.add(at, "%s, want 1 to %d printable characters without ']'", quote(name), maxName)
	}
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
	if len(written) == 0 {
		c.add(at, "an empty list, want at least one")
	}
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

// value compiles a condition on a named value.
func (c *compiler) value(kind sourceKind, spec *ValueSpec, at place) cond {
	c.sourceName(kind, spec.Name, at.key("name"))
	src := c.source(kind, spec.Name)
	subject := fmt.Sprintf("%s %s", kind, spec.Name)
	if spec.Type == "Present" {
		for _, key := range [...]string{"value", "values", "valuesFrom"} {
			if at.has(key) {
				c.add(at.key(key), "beside type Present, which takes any value")
			}
		}
		cond := c.cond(isPresent, src, subject+" is there")
		return cond
	}
	values, places, files := c.wanted(spec, at)
	if spec.Type == "RegularExpression" {
		if len(files) > 0 {
			c.add(at.key("valuesFrom"), "beside type RegularExpression, want values")
		}
		cond := c.cond(looksLike, src, subject+" is like "+list(values))
		cond.patterns = c.expressions(values, places)
		return cond
	}
	for i, v := range values {
		c.length(v, places[i])
	}
	op, verb := isOneOf, " is"
	switch spec.Type {
	case "Prefix":
		op, verb = startsWith, " starts with"
	case "Suffix":
		op, verb = endsWith, " ends with"
	}
	text := subject + verb + " " + list(values)
	if spec.ValuesFrom != nil {
		text = subject + verb + " a line of " + strings.Join(spec.ValuesFrom.Files, " or ")
	}
	cond := c.cond(op, src, text)
	c.draft(&cond, values, files)
	return cond
}

// wanted returns the values that a condition compares with, and the files that
// hold some.
func (c *compiler) wanted(spec *ValueSpec, at place) (values []string, places []place, files [][]byte) {
	ways := 0
	if spec.Value != nil || at.has("value") {
		ways++
		if spec.Value != nil {
			values, places = []string{*spec.Value}, []place{at.key("value")}
		}
	}
	if at.has("values") {
		ways++
		values = spec.Values
		for i := range values {
			places = append(places, at.key("values").item(i))
		}
		if len(values) == 0 {
			c.add(at.key("values"), "an empty list, want at least one")
		}
	}
	if at.has("valuesFrom") {
		ways++
		if spec.ValuesFrom != nil {
			files = c.valuesFrom(spec.ValuesFrom, at.key("valuesFrom"))
		}
	}
	if ways != 1 {
		c.add(at, "%d of value, values and valuesFrom, want one", ways)
	}
	return values, places, files
}

func (c *compiler) valuesFrom(spec *ValuesFrom, at place) (files [][]byte) {
	if len(spec.Files) == 0 && at.has("files") {
		c.add(at.key("files"), "an empty list, want at least one")
	}
	for i, name := range spec.Files {
		item := at.key("files").item(i)
		data, err := c.lists.read(name)
		if err != nil {
			c.add(item, "%s, %v", quote(name), err)
			continue
		}
		if line := badLine(data); line > 0 {
			c.add(item, "line %d of %s is longer than %d bytes or has control characters", line, quote(name), maxValue)
		}
		files = append(files, data)
	}
	return files
}

// expressions compiles regular expressions that must fit the whole of a value.
func (c *compiler) expressions(texts []string, places []place) []*regexp.Regexp {
	patterns := make([]*regexp.Regexp, 0, len(texts))
	for i, text := range texts {
		c.patterns++
		switch {
		case c.patterns > maxPatterns:
			c.add(places[i], "one regular expression too many, want at most %d", maxPatterns)
			return nil
		case text == "" || len(text) > maxPattern:
			c.add(places[i], "%d characters, want 1 to %d", len(text), maxPattern)
			continue
		}
		whole := `\A(?:` + text + `)\z`
		parsed, err := syntax.Parse(text, syntax.Perl)
		if err != nil {
			c.add(places[i], "%s is no regular expression (RE2): %v", quote(text), err)
			continue
		}
		if prog, err := syntax.Compile(parsed.Simplify()); err != nil || len(prog.Inst) > maxProgram {
			c.add(places[i], "%s is too large a regular expression, want smaller repeat counts", quote(text))
			continue
		}
		pattern, err := regexp.Compile(whole)
		if err != nil {
			c.add(places[i], "%s is no regular expression (RE2): %v", quote(text), err)
			continue
		}
		patterns = append(patterns, pattern)
	}
	return patterns
}

// length checks a value that requests are compared with.
func (c *compiler) length(value string, at place) {
	switch {
	case value == "":
		c.add(at, "an empty value, want one; type Present takes any")
	case len(value) > maxValue:
		c.add(at, "%d bytes, want at most %d", len(value), maxValue)
	case strings.ContainsAny(value, "\r\n\x00"):
		c.add(at, "%s, want one line without control characters", quote(value))
	}
}

// list shows values in a text for people.
func list(values []string) string {
	const enough = 3
	if len(values) > enough {
		return fmt.Sprintf("%s or %d more", strings.Join(values[:enough], " or "), len(values)-enough)
	}
	return strings.Join(values, " or ")
}

// String returns what people call the source.
func (k sourceKind) String() string {
	return [...]string{"method", "host", "path", "header", "query parameter", "cookie", "claim", "client IP", "trace id"}[k]
}

// lines calls use with every value of a file of values.
func lines(data []byte, use func(value []byte)) {
	for len(data) > 0 {
		var line []byte
		line, data, _ = bytes.Cut(data, newline)
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			use(line)
		}
	}
}

var newline = []byte("\n")
