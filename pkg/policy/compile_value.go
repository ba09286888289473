package policy

import (
	"fmt"
	"strings"
)

// values compiles the conditions on named values of one kind.
func (c *compiler) values(kind sourceKind, specs []ValueSpec, at place) []cond {
	if specs != nil {
		c.some(len(specs), at)
	}
	conds := make([]cond, len(specs))
	for i := range specs {
		conds[i] = c.value(kind, &specs[i], at.item(i))
	}
	return conds
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
		return c.cond(isPresent, src, subject+" is there")
	}
	values, places, files := c.wanted(spec, at)
	if spec.Type == "RegularExpression" {
		if len(files) > 0 {
			c.add(at.key("valuesFrom"), "beside type RegularExpression, want values")
		}
		cond := c.cond(looksLike, src, subject+" is like "+anyOf(values))
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
	text := subject + verb + " " + anyOf(values)
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
		c.some(len(values), at.key("values"))
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
	c.some(len(spec.Files), at.key("files"))
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

// anyOf shows values in a text for people.
func anyOf(values []string) string {
	const enough = 3
	if len(values) > enough {
		return fmt.Sprintf("%s or %d more", strings.Join(values[:enough], " or "), len(values)-enough)
	}
	return strings.Join(values, " or ")
}
