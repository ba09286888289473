package policy

import (
	"bytes"
	"slices"
)

// Route sends requests of the gateway to a service, by the beginning of their
// path.
type Route struct {
	Path    string // in whole segments, without slash at the end; "": every path
	Service *Service
	Strip   int   // segments to take off
	Cors    *Cors // nil: the service answers
}

// RouteFor returns the route of a path as it was sent, without query, or nil.
// Of several the longest takes it. Like rules, routes see a path in its normal
// form: escapes decoded, dot segments and runs of slashes resolved. It does not
// allocate where the path is in that form already.
func (p *Policy) RouteFor(path []byte) *Route {
	if !isNormal(path) {
		path = normalPath(nil, path)
	}
	for _, r := range p.Routes {
		if len(path) > 0 && path[0] == '/' && bytes.HasPrefix(path, []byte(r.Path)) &&
			(len(path) == len(r.Path) || path[len(r.Path)] == '/') {
			return r
		}
	}
	return nil
}

// Stripped appends the path that the service gets for a path as it was sent,
// and returns it. ok is false where the service could understand another path
// than the one that was routed, since the part that is taken off hides dot
// segments or slashes: such a request is refused. It does not allocate where the
// path is in its normal form and dst has room.
func (r *Route) Stripped(dst, path []byte) (stripped []byte, ok bool) {
	rest := skipSegments(path, r.Strip)
	if len(rest) == 0 {
		dst = append(dst, '/')
	}
	dst = append(dst, rest...)
	if r.Strip == 0 || isNormal(path) {
		return dst, true
	}
	want := skipSegments(normalPath(nil, path), r.Strip)
	if len(want) == 0 {
		want = []byte("/")
	}
	return dst, bytes.Equal(normalPath(nil, dst), want)
}

// skipSegments returns path without its first n segments.
func skipSegments(path []byte, n int) []byte {
	for range n {
		if len(path) == 0 {
			break
		}
		i := bytes.IndexByte(path[1:], '/')
		if i < 0 {
			return nil
		}
		path = path[1+i:]
	}
	return path
}

// Cors is what pages of other origins may do (Fetch standard, section 3.2).
type Cors struct {
	Origins     []string // as browsers write them; nil: any
	Methods     []string // nil: any
	Headers     []string // where not AnyHeader
	AnyHeader   bool
	Credentials bool
	MaxAge      int // seconds; below 0: not said
}

// AllowsOrigin tells whether pages of that origin may do anything at all.
func (c *Cors) AllowsOrigin(origin []byte) bool {
	return c.Origins == nil || contained(c.Origins, origin)
}

// AllowsMethod tells whether they may use that method.
func (c *Cors) AllowsMethod(method []byte) bool {
	return c.Methods == nil || contained(c.Methods, method)
}

func contained(list []string, word []byte) bool {
	return slices.ContainsFunc(list, func(one string) bool { return one == string(word) })
}

// AllowsHeaders tells whether they may send all headers of a list as browsers
// write it: names with commas between.
func (c *Cors) AllowsHeaders(names []byte) bool {
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
