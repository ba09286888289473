package policy

import (
	"bytes"
	"cmp"
)

// Route sends requests of the gateway to a service, by the beginning of their
// path.
type Route struct {
	Path    string // in whole segments, without slash at the end; "": every path
	Service *Service
	Strip   int   // segments to take off
	Cors    *Cors // nil: the service answers
}

// String is the path as a policy file writes it.
func (r *Route) String() string { return cmp.Or(r.Path, "/") }

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
