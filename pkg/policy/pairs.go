package policy

import "bytes"

// queryParam returns the first value of the parameter name in a raw query, as
// it was sent, and tells whether there is one. A parameter without '=' has an
// empty value. Names are compared decoded.
func queryParam(query []byte, name string) (raw []byte, ok bool) {
	for len(query) > 0 {
		var pair []byte
		pair, query = cutByte(query, '&')
		if raw, ok = cutParam(pair, name); ok {
			return raw, true
		}
	}
	return nil, false
}

// cutParam cuts a name and '=' off a parameter as sent.
func cutParam(pair []byte, name string) (raw []byte, ok bool) {
	for i := range len(name) {
		if len(pair) == 0 || pair[0] == '=' {
			return nil, false
		}
		c, width := unescape(pair)
		if c == '+' && width == 1 {
			c = ' '
		}
		if c != name[i] {
			return nil, false
		}
		pair = pair[width:]
	}
	if len(pair) > 0 && pair[0] == '=' {
		return pair[1:], true
	}
	return nil, len(pair) == 0
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
// 6265 section 4.2), without the quotes that may stand around it. It looks for
// the name first: most headers do not have it.
func cookie(header, name []byte) (value []byte, ok bool) {
	for from := 0; ; {
		at := bytes.Index(header[from:], name)
		if at < 0 {
			return nil, false
		}
		before, after := trimRight(header[:from+at]), trimLeft(header[from+at+len(name):])
		if (len(before) == 0 || before[len(before)-1] == ';') && len(after) > 0 && after[0] == '=' {
			value, _ = cutByte(after[1:], ';')
			return unquoted(trim(value)), true
		}
		from += at + len(name)
	}
}

func unquoted(value []byte) []byte {
	if len(value) > 1 && value[0] == '"' && value[len(value)-1] == '"' {
		return value[1 : len(value)-1]
	}
	return value
}

// trim takes optional white space off both ends (RFC 9110 section 5.6.3).
func trim(s []byte) []byte { return trimRight(trimLeft(s)) }

func trimLeft(s []byte) []byte {
	for len(s) > 0 && (s[0] == ' ' || s[0] == '\t') {
		s = s[1:]
	}
	return s
}

func trimRight(s []byte) []byte {
	for len(s) > 0 && (s[len(s)-1] == ' ' || s[len(s)-1] == '\t') {
		s = s[:len(s)-1]
	}
	return s
}

// cutByte is bytes.Cut for one byte, which it can do faster.
func cutByte(s []byte, c byte) (before, after []byte) {
	if at := bytes.IndexByte(s, c); at >= 0 {
		return s[:at], s[at+1:]
	}
	return s, nil
}
