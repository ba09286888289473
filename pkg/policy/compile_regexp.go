package policy

import (
	"regexp"
	"regexp/syntax"
)

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
