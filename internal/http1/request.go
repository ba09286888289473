package http1

import (
	"bytes"
	"errors"
)

// Request is the head of a request, read and edited in place. Lookups ignore case; names, values
// and order that are not edited go out as they came. What frames the message or concerns one
// connection (Content-Length, Transfer-Encoding, Host, Connection and the like) cannot be edited:
// Set, Del and DelAlike leave it as it is, so that no setting can bring us and the next hop to
// disagree about where a request ends.
type Request struct {
	head   head
	method span
	target span // as it came
	minor  byte // of the version: HTTP/1.0 or HTTP/1.1 (later ones count as 1.1)
	form   form

	authority []byte // of the target; nil in origin-form
	path      span   // with the query, in head.raw or head.own
	ownPath   bool

	framing framing
	length  int64
	odd     bool // framed in a way that others may read differently: both connections end after it
	exact   bool // plain enough that any parser must agree with ours

	keepAlive bool
	upgrade   bool // asks for another protocol, which is passed on
	trailers  bool // TE: trailers
	expect    bool // Expect: 100-continue
}

// form is that of the request-target (RFC 9112 section 3.2).
type form uint8

const (
	originForm form = iota
	absoluteForm
	authorityForm
	asteriskForm
)

// Method is as it came: methods differ by case.
func (r *Request) Method() []byte { return r.head.raw[r.method.from:r.method.to:r.method.to] }

// Authority is that of the target if it has one (absolute-form, CONNECT), else Host, without
// userinfo; nil if the request names none.
func (r *Request) Authority() []byte {
	if r.authority != nil {
		return r.authority
	}
	return r.head.get("host")
}

// Path is the raw path, "/" if the target has none, "*" for OPTIONS *, empty for CONNECT.
func (r *Request) Path() []byte {
	path, _, _ := bytes.Cut(r.pathAndQuery(), questionMark)
	return path
}

// Query is raw, what follows the first '?'; nil if there is none.
func (r *Request) Query() []byte {
	_, query, _ := bytes.Cut(r.pathAndQuery(), questionMark)
	return query
}

var questionMark = []byte("?")

func (r *Request) pathAndQuery() []byte {
	if r.ownPath {
		return r.head.own[r.path.from:r.path.to:r.path.to]
	}
	return r.head.raw[r.path.from:r.path.to:r.path.to]
}

// Connect says that the method is CONNECT.
func (r *Request) Connect() bool { return r.form == authorityForm }

// Get is the value of the first line of that name, nil if there is none.
func (r *Request) Get(name string) []byte { return r.head.get(name) }

// Values appends the values of all lines of that name to dst.
func (r *Request) Values(dst [][]byte, name string) [][]byte { return r.head.values(dst, name) }

// Set leaves one line of that name, at the place of the first, else at the end. value is copied;
// control characters in it become spaces.
func (r *Request) Set(name string, value []byte) {
	if identify(name) == other {
		r.head.set(name, value)
	}
}

// Del removes every line of that name.
func (r *Request) Del(name string) {
	if identify(name) == other {
		r.head.del(name)
	}
}

// DelAlike removes every line whose name an app behind CGI or WSGI cannot tell from this one:
// there each byte that is no letter or digit becomes '_' (RFC 3875 section 4.1.18).
func (r *Request) DelAlike(name string) { r.head.delAlike(name) }

// SetPath replaces the path and keeps the query. path is copied; it must start with '/' and hold
// what may stand in a request line, else nothing changes.
func (r *Request) SetPath(path []byte) {
	if len(path) == 0 || path[0] != '/' || !plainTarget(path) {
		return
	}
	query := r.Query()
	from := len(r.head.own)
	r.head.own = append(r.head.own, path...)
	if query != nil {
		r.head.own = append(append(r.head.own, '?'), query...)
	}
	r.path, r.ownPath = span{uint32(from), uint32(len(r.head.own))}, true
}

func (r *Request) reset() {
	h := r.head
	h.reset()
	*r = Request{head: h}
}

var (
	errRequestLine = errors.New("bad request line")
	errVersion     = errors.New("unknown HTTP version")
	errTarget      = errors.New("bad request target")
)

// scan reads the head at the front of b and returns its length; errMore if b does not hold all of
// it yet. It goes on where it stopped when called again with more bytes.
func (r *Request) scan(b []byte) (int, error) {
	h := &r.head
	if h.at == 0 {
		end, err := nextLine(b, 0, h.seen)
		if err != nil {
			h.seen = max(0, len(b)-1)
			return 0, err
		}
		h.raw = b
		if err := r.requestLine(end); err != nil {
			return 0, err
		}
		h.at, h.seen = end+2, end+2
	}
	return h.scanFields(b, false)
}

// requestLine reads h.raw[:end] (RFC 9112 section 3): exactly one space between its three parts.
func (r *Request) requestLine(end int) error {
	line := r.head.raw[:end]
	m := bytes.IndexByte(line, ' ')
	v := bytes.LastIndexByte(line, ' ')
	if m <= 0 || v <= m+1 {
		return errRequestLine
	}
	for _, c := range line[:m] {
		if !token[c] {
			return errRequestLine
		}
	}
	r.method, r.target = span{0, uint32(m)}, span{uint32(m + 1), uint32(v)}
	if err := r.version(line[v+1:]); err != nil {
		return err
	}
	if !plainTarget(line[m+1 : v]) {
		return errTarget
	}
	return nil
}

func (r *Request) version(v []byte) error {
	if len(v) != len("HTTP/1.1") || string(v[:5]) != "HTTP/" || !digit(v[5]) || v[6] != '.' || !digit(v[7]) {
		return errRequestLine
	}
	if v[5] != '1' {
		return errVersion
	}
	r.exact = v[7] <= '1'
	r.minor = min(v[7]-'0', 1) // RFC 9112 section 2.3: a later minor version is read as the highest we know
	return nil
}

func digit(c byte) bool { return '0' <= c && c <= '9' }

// plainTarget says that nothing in a target can end it: no space, no control character. Raw UTF-8
// is common and harmless.
func plainTarget(t []byte) bool {
	for _, c := range t {
		if c <= ' ' || c == 0x7f {
			return false
		}
	}
	return true
}
