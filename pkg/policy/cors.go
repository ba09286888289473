package policy

import (
	"bytes"
	"slices"
)

// Cors is what pages of other origins may do (Fetch standard, section 3.2).
type Cors struct {
	Origins     []string // as browsers write them; nil: any
	Methods     []string // nil: any
	Headers     []string // where not AnyHeader
	AnyHeader   bool
	Credentials bool
	MaxAge      int // seconds; below 0: not said
}

// Page is what a browser says of the page whose request it sends. What it does not
// say is nil.
type Page struct {
	Origin        []byte // Origin
	Authority     []byte // whom the request is for, as the caller named it
	Method        []byte // of the request
	WantedMethod  []byte // Access-Control-Request-Method
	WantedHeaders []byte // Access-Control-Request-Headers
}

// Permission is what becomes of the request of a page.
type Permission struct {
	Foreign bool // the page is of another origin; else it needs no permission
	Asks    bool // the browser only asks what the page may do
	Given   bool
}

// Permit judges the request of a page. It does not allocate.
func (c *Cors) Permit(p *Page) Permission {
	if p.Origin == nil || p.isOwn() {
		return Permission{}
	}
	if string(p.Method) == "OPTIONS" && p.WantedMethod != nil {
		given := c.allowsOrigin(p.Origin) && c.allowsMethod(p.WantedMethod) && c.allowsHeaders(p.WantedHeaders)
		return Permission{Foreign: true, Asks: true, Given: given}
	}
	return Permission{Foreign: true, Given: c.allowsOrigin(p.Origin) && c.allowsMethod(p.Method)}
}

// isOwn tells whether the page is of the host that the request is for: browsers name
// the origin there too, for all methods but GET and HEAD. They leave the port out
// where it is the scheme's own.
func (p *Page) isOwn() bool {
	scheme, host, ok := bytes.Cut(p.Origin, []byte("://"))
	if !ok {
		return false
	}
	rest, ok := cutFold(p.Authority, host)
	switch {
	case !ok:
		return false
	case bytes.EqualFold(scheme, []byte("https")):
		return len(rest) == 0 || string(rest) == ":443"
	}
	return len(rest) == 0 || string(rest) == ":80"
}

// cutFold is bytes.CutPrefix for prefixes in any case.
func cutFold(b, prefix []byte) ([]byte, bool) {
	if len(b) < len(prefix) || !bytes.EqualFold(b[:len(prefix)], prefix) {
		return nil, false
	}
	return b[len(prefix):], true
}

// allowsOrigin tells whether pages of that origin may do anything at all.
func (c *Cors) allowsOrigin(origin []byte) bool {
	return c.Origins == nil || contained(c.Origins, origin)
}

// allowsMethod tells whether they may use that method.
func (c *Cors) allowsMethod(method []byte) bool {
	return c.Methods == nil || contained(c.Methods, method)
}

func contained(list []string, word []byte) bool {
	return slices.ContainsFunc(list, func(one string) bool { return one == string(word) })
}

// allowsHeaders tells whether they may send all headers of a list as browsers
// write it: names with commas between.
func (c *Cors) allowsHeaders(names []byte) bool {
	if c.AnyHeader {
		return true
	}
	for name := range bytes.SplitSeq(names, []byte(",")) {
		name = bytes.TrimSpace(name)
		if len(name) > 0 && !slices.ContainsFunc(c.Headers, func(one string) bool { return bytes.EqualFold([]byte(one), name) }) {
			return false
		}
	}
	return true
}
