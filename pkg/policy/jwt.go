package policy

import (
	"bytes"
	"encoding/base64"
	"unicode/utf16"
	"unicode/utf8"
)

// bearerClaims appends the payload of the JSON web token (RFC 7519) in an
// Authorization header to dst. The signature is not looked at: claims pick a
// version, they grant nothing.
func bearerClaims(dst, authorization []byte) (extended []byte, ok bool) {
	const scheme = "bearer "
	if len(authorization) < len(scheme) {
		return dst, false
	}
	for i := range len(scheme) {
		if lower(authorization[i]) != scheme[i] {
			return dst, false
		}
	}
	_, rest, ok := bytes.Cut(trim(authorization[len(scheme):]), dot)
	if !ok {
		return dst, false
	}
	payload, _, ok := bytes.Cut(rest, dot)
	if !ok {
		return dst, false
	}
	start := len(dst)
	dst, err := base64.RawURLEncoding.AppendDecode(dst, bytes.TrimRight(payload, "="))
	if err != nil {
		return dst[:start], false
	}
	return dst, true
}

// findClaim returns the JSON text of the member called name of the object in
// payload.
func findClaim(payload []byte, name string) (text []byte, ok bool) {
	rest := skipSpace(payload)
	if len(rest) == 0 || rest[0] != '{' {
		return nil, false
	}
	for rest = skipSpace(rest[1:]); len(rest) > 0 && rest[0] == '"'; rest = skipSpace(rest[1:]) {
		var key, value []byte
		if key, rest, ok = jsonValue(rest); !ok {
			return nil, false
		}
		rest = skipSpace(rest)
		if len(rest) == 0 || rest[0] != ':' {
			return nil, false
		}
		if value, rest, ok = jsonValue(skipSpace(rest[1:])); !ok {
			return nil, false
		}
		if sameString(key, name) {
			return value, true
		}
		rest = skipSpace(rest)
		if len(rest) == 0 || rest[0] != ',' {
			return nil, false
		}
	}
	return nil, false
}

// sameString compares a JSON string with a name. Some encoders escape slashes.
func sameString(quoted []byte, name string) bool {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1:len(quoted)-1]) == name
	}
	var room [128]byte // longer names with escapes may allocate
	return string(appendString(room[:0], quoted)) == name
}

// jsonValue cuts one value off the front of text.
func jsonValue(text []byte) (value, rest []byte, ok bool) {
	if len(text) == 0 {
		return nil, nil, false
	}
	end := 0
	switch text[0] {
	case '"':
		end = stringEnd(text)
	case '{', '[':
		end = nestEnd(text)
	default:
		for end < len(text) && !bytes.ContainsRune(jsonEnds, rune(text[end])) {
			end++
		}
	}
	if end == 0 {
		return nil, nil, false
	}
	return text[:end], text[end:], true
}

// stringEnd returns the length of the JSON string that text starts with, 0 if
// it does not end.
func stringEnd(text []byte) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return 0
}

// nestEnd returns the length of the JSON object or list that text starts with,
// 0 if it does not end.
func nestEnd(text []byte) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			n := stringEnd(text[i:])
			if n == 0 {
				return 0
			}
			i += n - 1
		case '{', '[':
			depth++
		case '}', ']':
			depth--
			if depth == 0 {
				return i + 1
			}
		}
	}
	return 0
}

func skipSpace(text []byte) []byte {
	for len(text) > 0 && (text[0] == ' ' || text[0] == '\t' || text[0] == '\n' || text[0] == '\r') {
		text = text[1:]
	}
	return text
}

// appendString appends what the JSON string quoted stands for to dst (RFC 8259
// section 7). An escape that is none stands for itself.
func appendString(dst, quoted []byte) []byte {
	s := quoted[1 : len(quoted)-1]
	for len(s) > 0 {
		if s[0] != '\\' || len(s) == 1 {
			dst, s = append(dst, s[0]), s[1:]
			continue
		}
		switch s[1] {
		case 'b':
			dst, s = append(dst, '\b'), s[2:]
		case 'f':
			dst, s = append(dst, '\f'), s[2:]
		case 'n':
			dst, s = append(dst, '\n'), s[2:]
		case 'r':
			dst, s = append(dst, '\r'), s[2:]
		case 't':
			dst, s = append(dst, '\t'), s[2:]
		case 'u':
			r, width := unicodeEscape(s)
			dst, s = utf8.AppendRune(dst, r), s[width:]
		default:
			dst, s = append(dst, s[1]), s[2:]
		}
	}
	return dst
}

// unicodeEscape returns the character of the \uXXXX, or pair of them, that s
// starts with.
func unicodeEscape(s []byte) (r rune, width int) {
	const escape = len(`\uXXXX`)
	first, ok := hex4(s)
	if !ok {
		return utf8.RuneError, min(escape, len(s))
	}
	if utf16.IsSurrogate(first) {
		if second, ok := hex4(s[escape:]); ok {
			return utf16.DecodeRune(first, second), 2 * escape
		}
		return utf8.RuneError, escape
	}
	return first, escape
}

func hex4(s []byte) (rune, bool) {
	if len(s) < len(`\uXXXX`) || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	var r rune
	for _, c := range s[2:6] {
		digit, ok := unhex(c)
		if !ok {
			return 0, false
		}
		r = r<<4 | rune(digit)
	}
	return r, true
}

// claim reads a claim: the text of a string, a number or a boolean, or those
// of a list.
func (r *reader) claim(name string, c *cell) {
	text, ok := findClaim(r.payload(), name)
	if !ok || string(text) == "null" {
		return
	}
	c.ok = true
	if text[0] != '[' {
		c.value = r.claimValue(text)
		return
	}
	start := len(r.more)
	for rest := skipSpace(text[1:]); len(rest) > 0 && rest[0] != ']'; {
		element, after, ok := jsonValue(rest)
		if !ok {
			break
		}
		r.more = append(r.more, r.claimValue(element))
		rest = skipSpace(after)
		if len(rest) > 0 && rest[0] == ',' {
			rest = skipSpace(rest[1:])
		}
	}
	c.list = true
	c.more = r.more[start:len(r.more):len(r.more)]
}

// claimValue returns what conditions compare: nothing for an object or a list.
func (r *reader) claimValue(text []byte) []byte {
	switch {
	case text[0] == '{' || text[0] == '[':
		return nil
	case text[0] != '"':
		return text
	case bytes.IndexByte(text, '\\') < 0:
		return text[1 : len(text)-1]
	}
	start := len(r.buf)
	r.buf = appendString(r.buf, text)
	return r.kept(start)
}

var jsonEnds = []byte(" \t\r\n,:]}")
