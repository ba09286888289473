package http1

import "errors"

var (
	errNoHost    = errors.New("no Host")
	errHosts     = errors.New("more than one Host")
	errHost      = errors.New("bad Host")
	errLength    = errors.New("bad Content-Length")
	errLengths   = errors.New("more than one Content-Length")
	errCoding    = errors.New("bad Transfer-Encoding")
	errBoth      = errors.New("both Content-Length and Transfer-Encoding")
	errOldCoding = errors.New("Transfer-Encoding in HTTP/1.0")
	errContent   = errors.New("CONNECT with a body")
)

// inspect reads what the scanned head says about the message and the connection, and marks what
// goes no further. Connection cannot remove the names in keep.
func (r *Request) inspect(keep []string) error {
	if err := r.readTarget(); err != nil {
		return err
	}
	f, err := r.head.readFraming()
	if err != nil {
		return err
	}
	if err := r.readHost(f.hosts); err != nil {
		return err
	}
	if err := r.readBody(&f); err != nil {
		return err
	}
	o, err := r.head.readOptions(keep)
	if err != nil {
		return err
	}
	r.keepAlive = !o.close && (r.minor == 1 || o.keepAlive)
	for i := range r.head.fields {
		r.passHop(&r.head.fields[i], o)
	}
	return nil
}

// passHop decides about one of the fields that concern this hop (RFC 9110 section 7.6.1).
func (r *Request) passHop(f *field, o options) {
	switch f.known {
	case kUpgrade: // an upgrade to h2c would hide what follows from us, and is never needed
		if o.upgrade && r.minor == 1 && !containsToken(r.head.valueOf(f), "h2c") {
			r.upgrade = true
			return
		}
	case kTE:
		if containsToken(r.head.valueOf(f), "trailers") {
			f.value, f.flags = keep(&r.head, "trailers"), f.flags|ownValue
			r.trailers = true
			return
		}
	case kExpect:
		r.expect = r.minor == 1 && equalFold(r.head.valueOf(f), "100-continue")
		if r.minor == 1 {
			return
		}
	case kKeepAlive, kHTTP2Settings, kProxyConnection, kProxyAuthorization, kConnection:
	default:
		return
	}
	f.flags |= hop
}

func (r *Request) readHost(hosts int) error {
	switch {
	case hosts > 1:
		return errHosts
	case hosts == 0 && r.minor == 1:
		return errNoHost
	case hosts == 1:
		// An empty Host is what a client sends that knows no authority.
		v := r.head.get("host")
		if len(v) > 0 && !hostPort(v, false) {
			return errHost
		}
		r.exact = r.exact && len(v) > 0
	}
	return nil
}

func (r *Request) readBody(f *framings) error {
	r.odd = f.odd || f.coded && !f.plain // who knows no other coding than chunked may take it for none
	switch {
	case f.coded && f.lengths > 0:
		return errBoth
	case f.coded && r.minor == 0:
		return errOldCoding
	case f.lengths > 1:
		return errLengths
	case f.coded && !f.chunked:
		return errCoding
	case f.coded:
		r.framing = byChunks
		r.exact = r.exact && f.plain && !f.odd
	case f.lengths == 1:
		r.framing, r.length = byLength, f.length
	}
	if r.framing == noBody {
		return nil
	}
	if r.form == authorityForm {
		return errContent
	}
	// A body of GET or HEAD is allowed and unexpected: a receiver may leave it in its buffer, and
	// take it for the next request.
	if m := r.Method(); (r.framing == byChunks || r.length > 0) && (string(m) == "GET" || string(m) == "HEAD") {
		r.odd = true
	}
	return nil
}

// framings is what a head says about the body.
type framings struct {
	hosts    int
	lengths  int
	length   int64
	coded    bool // there is a Transfer-Encoding
	chunked  bool // and it ends in chunked
	plain    bool // and it says nothing else
	identity bool // and it says nothing but identity, as some old origins do
	odd      bool // valid, and some receivers may read it differently
}

func (h *head) readFraming() (f framings, err error) {
	for i := range h.fields {
		l := &h.fields[i]
		switch l.known {
		case kHost:
			f.hosts++
		case kContentLength:
			n, ok := decimal(h.valueOf(l))
			if !ok {
				return f, errLength
			}
			if f.lengths > 0 && n != f.length {
				return f, errLengths
			}
			f.lengths++
			f.length = n
			h.tidy(l)
		case kTransferEncoding:
			if f.odd = f.odd || f.coded; f.chunked {
				return f, errCoding // chunked has to be the last
			}
			f.coded = true
			if err := f.codings(h.valueOf(l)); err != nil {
				return f, err
			}
			f.odd = h.tidy(l) || f.odd
		}
	}
	return f, nil
}

// tidy has a line of framing written without odd spaces, which not everybody skips.
func (h *head) tidy(l *field) bool {
	if int(l.value.from-l.name.to) == len(": ") && h.raw[l.name.to+1] == ' ' && l.end-l.value.to == 2 {
		return false
	}
	l.flags |= tidy
	return true
}

// codings reads one line of Transfer-Encoding (RFC 9112 section 6.1).
func (f *framings) codings(v []byte) error {
	if len(v) == 0 || v[len(v)-1] == ',' {
		return errCoding
	}
	f.identity, f.plain = equalFold(v, "identity"), equalFold(v, "chunked")
	for len(v) > 0 {
		var c []byte
		c, v = nextItem(v)
		name, params := coding(c)
		f.odd = f.odd || params
		switch {
		case f.chunked:
			return errCoding
		case equalFold(name, "chunked"):
			f.chunked = true
		case !knownCoding(name):
			return errCoding
		}
	}
	return nil
}

// coding cuts a transfer coding from its parameters.
func coding(c []byte) (name []byte, params bool) {
	for i, b := range c {
		if b == ';' {
			_, to := trim(c, 0, i)
			return c[:to], true
		}
	}
	return c, false
}

func knownCoding(name []byte) bool {
	for _, s := range [...]string{"gzip", "x-gzip", "deflate", "compress", "x-compress", "identity"} {
		if equalFold(name, s) {
			return true
		}
	}
	return false
}

// nextItem cuts the first item off a comma-separated list.
func nextItem(v []byte) (item, rest []byte) {
	end := 0
	for end < len(v) && v[end] != ',' {
		end++
	}
	from, to := trim(v, 0, end)
	item = v[from:to]
	if end < len(v) {
		end++
	}
	return item, v[end:]
}

func containsToken(v []byte, want string) bool {
	for len(v) > 0 {
		var item []byte
		if item, v = nextItem(v); equalFold(item, want) {
			return true
		}
	}
	return false
}

// decimal reads digits only: no sign, no space, no list; at most 18 of them.
func decimal[T []byte | string](v T) (n int64, ok bool) {
	if len(v) == 0 || len(v) > 18 {
		return 0, false
	}
	for i := range len(v) {
		c := v[i]
		if !digit(c) {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, true
}
