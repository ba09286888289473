package policy

import "bytes"

// queryParam returns the first value of the parameter name in a raw query, as
// it was sent, and tells whether there is one. A parameter without '=' has an
// empty value. Names are compared decoded.
func queryParam(query []byte, name string) (raw []byte, ok bool) {
	for len(query) > 0 {
		var pair []byte
		pair, query, _ = bytes.Cut(query, ampersand)
		key, value, _ := bytes.Cut(pair, equals)
		if sameParam(key, name) {
			return value, true
		}
	}
	return nil, false
}

// sameParam compares a name as sent with a decoded one.
func sameParam(sent []byte, name string) bool {
	for i := range len(name) {
		if len(sent) == 0 {
			return false
		}
		c, width := unescape(sent)
		if c == '+' && width == 1 {
			c = ' '
		}
		if c != name[i] {
			return false
		}
		sent = sent[width:]
	}
	return len(sent) == 0
}

// unescapeParam appends a parameter's value, decoded, to dst.
func unescapeParam(dst, raw []byte) []byte {
	for len(raw) > 0 {
		c, width := unescape(raw)
		if c == '+' && width == 1 {
			c = ' '
		}
		dst = append(dst, c)
		raw = raw[width:]
	}
	return dst
}

// cookie returns the first value of the cookie name in a Cookie header (RFC
// 6265 section 4.2), without the quotes that may stand around it.
func cookie(header []byte, name string) (value []byte, ok bool) {
	for len(header) > 0 {
		var pair []byte
		pair, header, _ = bytes.Cut(header, semicolon)
		key, value, found := bytes.Cut(pair, equals)
		if !found || string(trim(key)) != name {
			continue
		}
		value = trim(value)
		if len(value) > 1 && value[0] == '"' && value[len(value)-1] == '"' {
			value = value[1 : len(value)-1]
		}
		return value, true
	}
	return nil, false
}

// trim takes optional white space off both ends (RFC 9110 section 5.6.3).
func trim(s []byte) []byte {
	for len(s) > 0 && (s[0] == ' ' || s[0] == '\t') {
		s = s[1:]
	}
	for len(s) > 0 && (s[len(s)-1] == ' ' || s[len(s)-1] == '\t') {
		s = s[:len(s)-1]
	}
	return s
}

var (
	ampersand = []byte("&")
	equals    = []byte("=")
	semicolon = []byte(";")
)
