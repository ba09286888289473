package http2

import (
	"net/http"
	"net/textproto"
	"net/url"
	"strings"
)

// Request is the head of a request, read and edited in place. Lookups ignore case.
// Lines of one name keep their order.
type Request struct {
	http *http.Request

	method, authority, path, query []byte

	values [8]string // one for each line that was set, as far as they go
	set    int       // of values
}

func (r *Request) read(in *http.Request) {
	target, query, asked := strings.Cut(in.RequestURI, "?")
	if in.Method == http.MethodConnect {
		target = ""
	}
	all := make([]byte, 0, len(in.Method)+len(in.Host)+len(target)+len(query))
	part := func(s string) []byte {
		from := len(all)
		all = append(all, s...)
		return all[from:len(all):len(all)]
	}
	r.http = in
	delete(in.Header, "Proxy-Authorization") // which ends here, as with HTTP/1
	delete(in.Header, "Http2-Settings")
	r.method, r.path = part(in.Method), part(target)
	if in.Host != "" {
		r.authority = part(in.Host)
	}
	if asked {
		r.query = part(query)
	}
}

// size is that of the head, as HTTP/1 would write its lines.
func (r *Request) size() int {
	n := len(r.method) + len(r.authority) + len(r.http.RequestURI)
	for name, values := range r.http.Header {
		for _, value := range values {
			n += len(name) + len(value) + len(": \r\n")
		}
	}
	return n
}

// Method is as it came: methods differ by case.
func (r *Request) Method() []byte { return r.method }

// Authority is :authority, else Host; nil if the request names none.
func (r *Request) Authority() []byte { return r.authority }

// Path is the raw path, "*" for OPTIONS *, empty for CONNECT.
func (r *Request) Path() []byte { return r.path }

// Query is raw, what follows the first '?'; nil if there is none.
func (r *Request) Query() []byte { return r.query }

// Connect says that the method is CONNECT.
func (r *Request) Connect() bool { return r.http.Method == http.MethodConnect }

// SetPath replaces the path and keeps the query. path is copied; it must start with
// '/' and hold what may stand in a request target, else nothing changes.
func (r *Request) SetPath(path []byte) {
	if len(path) == 0 || path[0] != '/' {
		return
	}
	for _, c := range path {
		if c <= ' ' || c == 0x7f {
			return
		}
	}
	r.path = append([]byte(nil), path...)
}

// target is where the request goes on an origin. Opaque is sent as it stands, so
// that the path stays what it was byte for byte; net/http takes off what it puts
// before one that begins with "//".
func (r *Request) target(addr string) *url.URL {
	u := &url.URL{Scheme: "http", Host: addr, Opaque: string(r.path), RawQuery: string(r.query), ForceQuery: r.query != nil}
	if strings.HasPrefix(u.Opaque, "//") {
		host := r.http.Host
		if host == "" {
			host = addr
		}
		u.Opaque = "//" + host + u.Opaque
	}
	return u
}

// Get is the value of the first line of that name, nil if there is none.
func (r *Request) Get(name string) []byte {
	if values := r.lines(name); len(values) > 0 {
		return []byte(values[0])
	}
	if strings.EqualFold(name, "host") {
		return r.authority
	}
	return nil
}

// Values appends the values of all lines of that name to dst.
func (r *Request) Values(dst [][]byte, name string) [][]byte {
	for _, value := range r.lines(name) {
		dst = append(dst, []byte(value))
	}
	return dst
}

// Set leaves one line of that name. value is copied; control characters in it
// become spaces.
func (r *Request) Set(name string, value []byte) {
	canonical, ok := canonicalNames[name]
	if !ok {
		canonical = textproto.CanonicalMIMEHeaderKey(name)
	}
	r.http.Header[canonical] = r.line(plain(string(value)))
}

// line is a list of nothing but value.
func (r *Request) line(value string) []string {
	if r.set == len(r.values) {
		return []string{value}
	}
	line := r.values[r.set : r.set+1 : r.set+1]
	line[0] = value
	r.set++
	return line
}

// canonicalNames are those of the lines that nearly every request gets, which net/http
// would make each time.
var canonicalNames = map[string]string{"baggage": "Baggage", "traceparent": "Traceparent", "tracestate": "Tracestate"}

// Del removes every line of that name.
func (r *Request) Del(name string) { r.http.Header.Del(name) }

// DelAlike removes every line whose name an app behind CGI or WSGI cannot tell from
// this one: there each byte that is no letter or digit becomes '_' (RFC 3875,
// section 4.1.18).
func (r *Request) DelAlike(name string) {
	for key := range r.http.Header {
		if alike(key, name) {
			delete(r.http.Header, key)
		}
	}
}

// lines finds a name in any case, without an allocation.
func (r *Request) lines(name string) []string {
	var scratch [64]byte
	if len(name) > len(scratch) {
		return r.http.Header.Values(name)
	}
	upper := true
	for i := range len(name) {
		c := lower(name[i])
		if upper && 'a' <= c && c <= 'z' {
			c -= 'a' - 'A'
		}
		scratch[i] = c
		upper = c == '-'
	}
	return r.http.Header[string(scratch[:len(name)])]
}

func alike(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) {
		if lower(a[i]) != lower(b[i]) && (alphanumeric(a[i]) || alphanumeric(b[i])) {
			return false
		}
	}
	return true
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}

func alphanumeric(c byte) bool {
	return 'a' <= lower(c) && lower(c) <= 'z' || '0' <= c && c <= '9'
}

// plain is s without what could end a line.
func plain(s string) string {
	if !strings.ContainsFunc(s, control) {
		return s
	}
	return strings.Map(func(c rune) rune {
		if control(c) {
			return ' '
		}
		return c
	}, s)
}

func control(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }
