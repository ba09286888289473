package http1

import "bytes"

// readTarget finds form, authority and path of the target (RFC 9112 section 3.2), and makes the
// Host of an absolute target the one that counts.
func (r *Request) readTarget() error {
	raw := r.head.raw
	t := raw[r.target.from:r.target.to]
	method := r.Method()
	switch {
	case string(method) == "CONNECT":
		r.form = authorityForm
		if !hostPort(t, true) {
			return errTarget
		}
		r.authority = t[:len(t):len(t)]
		r.path = span{r.target.to, r.target.to}
	case t[0] == '/':
		r.path = r.target
	case len(t) == 1 && t[0] == '*' && string(method) == "OPTIONS":
		r.form, r.path = asteriskForm, r.target
	default:
		return r.readAbsolute(t)
	}
	return nil
}

const scheme = "http://"

// readAbsolute reads an absolute-form target: only of http, since nothing here speaks TLS for others.
func (r *Request) readAbsolute(t []byte) error {
	if len(t) <= len(scheme) || !equalFold(t[:len(scheme)], scheme) {
		return errTarget
	}
	r.form = absoluteForm
	rest := t[len(scheme):]
	end := bytes.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	authority := rest[:end]
	if at := bytes.LastIndexByte(authority, '@'); at >= 0 {
		authority = authority[at+1:] // userinfo is for nobody behind us (RFC 9110 section 4.2.4)
	}
	if !hostPort(authority, false) {
		return errTarget
	}
	r.authority = authority[:len(authority):len(authority)]
	r.path = span{r.target.to - uint32(len(rest)-end), r.target.to}
	if tail := rest[end:]; len(tail) == 0 || tail[0] != '/' {
		r.rootPath(tail)
	}
	if r.head.find("host", 0) >= 0 {
		r.head.set("Host", r.authority)
	}
	return nil
}

// rootPath writes out the path that an absolute target left away before tail, its query.
func (r *Request) rootPath(tail []byte) {
	path := "/"
	if len(tail) == 0 && string(r.Method()) == "OPTIONS" {
		path = "*"
	}
	from := len(r.head.own)
	r.head.own = append(append(r.head.own, path...), tail...)
	r.path, r.ownPath = span{uint32(from), uint32(len(r.head.own))}, true
}

// hostPort checks uri-host [ ":" port ] (RFC 9110 section 7.2).
func hostPort(b []byte, needPort bool) bool {
	host, port, hasPort := b, []byte(nil), false
	if len(b) > 0 && b[0] == '[' {
		end := bytes.IndexByte(b, ']')
		if end < 2 || !ipLiteral(b[1:end]) {
			return false
		}
		if end+1 < len(b) {
			if b[end+1] != ':' {
				return false
			}
			port, hasPort = b[end+2:], true
		}
	} else {
		if i := bytes.IndexByte(b, ':'); i >= 0 {
			host, port, hasPort = b[:i], b[i+1:], true
		}
		if len(host) == 0 || !regName(host) {
			return false
		}
	}
	if needPort && len(port) == 0 {
		return false
	}
	return !hasPort || portNumber(port)
}

func portNumber(b []byte) bool {
	n := 0
	for _, c := range b {
		if !digit(c) || n > 65535 {
			return false
		}
		n = n*10 + int(c-'0')
	}
	return n <= 65535
}

func ipLiteral(b []byte) bool {
	for _, c := range b {
		if !alphanumeric(c) && c != ':' && c != '.' && c != '%' && c != '-' && c != '_' {
			return false
		}
	}
	return true
}

func regName(b []byte) bool {
	for i, c := range b {
		switch {
		case alphanumeric(c), c == '-', c == '.', c == '_', c == '~':
		case c == '%':
			if i+2 >= len(b) {
				return false
			}
			if _, ok := hexDigit(b[i+1]); !ok {
				return false
			}
			if _, ok := hexDigit(b[i+2]); !ok {
				return false
			}
		case bytes.IndexByte(subDelims, c) >= 0:
		default:
			return false
		}
	}
	return true
}

var subDelims = []byte("!$&'()*+,;=")
