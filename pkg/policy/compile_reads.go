package policy

import "strings"

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
		c.policy.sources = append(c.policy.sources, source{kind: kind, name: name, text: []byte(name)})
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

// String returns what people call the source.
func (k sourceKind) String() string {
	return [...]string{"method", "host", "path", "header", "query parameter", "cookie", "claim", "client IP", "trace id"}[k]
}
