package policy

import "strings"

// source is one thing that rules read of a request. However many rules name
// it, it is read once.
type source struct {
	kind sourceKind
	name string // of the header, parameter, cookie or claim; "" for the others
	text []byte // name

	// What conditions compare it with. The index of the policy asks all four.
	exact    *dict
	prefixes *dict
	suffixes *dict
	segments *dict    // paths, compared on segment borders
	present  []uint32 // conditions that want any value
}

// String names the source for people.
func (s *source) String() string { return strings.TrimSpace(s.kind.String() + " " + s.name) }

type sourceKind uint8

const (
	ofMethod sourceKind = iota
	ofHost
	ofPath
	ofHeader
	ofParam
	ofCookie
	ofClaim
	ofPeer
	ofTrace
)

// reader reads one request. It belongs to one policy, is used for one request
// at a time, and is kept for the next one.
type reader struct {
	policy  *Policy
	request Request
	cells   []cell   // one for each source of the policy
	more    [][]byte // values of claims that are lists
	lines   [][]byte // Cookie lines
	cookies bool     // lines was looked for
	buf     []byte   // decoded values
	bits    []uint64 // matches that may hold
	found   bool     // there are more of them than those that are always tried
	refused int      // index of the last rule that is idle or whose share said no
	host    authority
	forms   spellings
	claims  []byte // payload of the bearer token
	decoded bool   // claims was looked for
}

// cell is what a source said.
type cell struct {
	read   bool
	ok     bool
	hashed bool
	list   bool     // the values are in more
	value  []byte   // nil, where ok: what is there cannot be compared
	more   [][]byte // elements of a claim that is a list
	hash   uint64
}

// reset makes r ready for another request and lets go of the last one.
func (r *reader) reset() {
	r.request = Request{}
	if r.found {
		r.found = false
		copy(r.bits, r.policy.index.always)
	}
	clear(r.cells)
	clear(r.more)
	r.more = r.more[:0]
	clear(r.lines)
	r.lines, r.cookies = r.lines[:0], false
	r.buf = r.buf[:0]
	r.claims, r.decoded = nil, false
}

// get reads source i.
func (r *reader) get(i int) *cell {
	c := &r.cells[i]
	if !c.read {
		c.read = true
		r.read(&r.policy.sources[i], c)
	}
	return c
}

// key returns the hash of what source i says, for shares. An empty value and a
// list are no key.
func (r *reader) key(i int) (hash uint64, ok bool) {
	c := r.get(i)
	if !c.ok || len(c.value) == 0 || c.list {
		return 0, false
	}
	if !c.hashed {
		c.hash, c.hashed = hash64(c.value), true
	}
	return c.hash, true
}

func (r *reader) read(s *source, c *cell) {
	switch s.kind {
	case ofMethod:
		c.value, c.ok = r.request.Method, true
	case ofHost:
		r.host.set(r.request.Host)
		c.value = r.host.host()
		c.ok = len(c.value) > 0
	case ofPath:
		c.value, c.ok = r.path(), true
	case ofHeader:
		c.value = r.header(s.name)
		c.ok = c.value != nil
		c.value = trim(c.value)
	case ofParam:
		c.value, c.ok = queryParam(r.request.Query, s.name)
		c.value = r.param(c.value)
	case ofCookie:
		c.value, c.ok = r.cookie(s.text)
	case ofClaim:
		r.claim(s.name, c)
	case ofPeer:
		c.ok = r.request.Peer.IsValid()
		if c.ok {
			start := len(r.buf)
			r.buf = r.request.Peer.Unmap().WithZone("").AppendTo(r.buf)
			c.value = r.kept(start)
		}
	case ofTrace:
		c.value, c.ok = r.request.TraceID, len(r.request.TraceID) > 0
	}
}

func (r *reader) header(name string) []byte {
	if r.request.Headers == nil {
		return nil
	}
	return r.request.Headers.Get(name)
}

// cookie looks through all Cookie lines: HTTP/1 clients should send one, some
// send more.
func (r *reader) cookie(name []byte) (value []byte, ok bool) {
	if !r.cookies && r.request.Headers != nil {
		r.cookies = true
		r.lines = r.request.Headers.Values(r.lines[:0], "Cookie")
	}
	for _, line := range r.lines {
		if value, ok = cookie(line, name); ok {
			return value, true
		}
	}
	return nil, false
}

func (r *reader) path() []byte {
	if isNormal(r.request.Path) {
		return r.request.Path
	}
	start := len(r.buf)
	r.buf = normalPath(r.buf, r.request.Path)
	return r.kept(start)
}

// kept returns what was put into buf since start. It stays valid for the
// request, also where buf grows into another place.
func (r *reader) kept(start int) []byte { return r.buf[start:len(r.buf):len(r.buf)] }

func (r *reader) param(raw []byte) []byte {
	for _, c := range raw {
		if c == '%' || c == '+' {
			start := len(r.buf)
			r.buf = unescapeParam(r.buf, raw)
			return r.kept(start)
		}
	}
	return raw
}

// payload returns the claims of the bearer token, nil where there is none.
func (r *reader) payload() []byte {
	if !r.decoded {
		r.decoded = true
		start := len(r.buf)
		var ok bool
		if r.buf, ok = bearerClaims(r.buf, r.header("Authorization")); ok {
			r.claims = r.kept(start)
		}
	}
	return r.claims
}
