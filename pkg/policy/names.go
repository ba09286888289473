package policy

import "strings"

// isToken tells whether s can be the name of a header (RFC 9110 section 5.1)
// or a cookie.
func isToken(s string) bool {
	if s == "" || len(s) > maxName {
		return false
	}
	for i := range len(s) {
		c := s[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0:
		default:
			return false
		}
	}
	return true
}

// isFieldValue tells whether s can be the value of a header as one word.
func isFieldValue(s string) bool {
	if s == "" || len(s) > maxName {
		return false
	}
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// reserved tells whether the header of that name cannot carry the tag, since
// it frames a message, belongs to one connection, or carries something else
// that apps, proxies and tracers read. Names are compared as CGI and WSGI see them
// (RFC 3875 section 4.1.18), where all bytes that are no letter or digit are the same:
// Content_Length reads as Content-Length in many apps, and what is written or taken off
// as one would be the other.
func reserved(header string) bool {
	name := strings.Map(asCGI, header)
	for _, one := range reservedHeaders {
		if name == one || strings.HasSuffix(one, "-") && strings.HasPrefix(name, one) {
			return true
		}
	}
	return false
}

// asCGI folds case, and gives '-' for all that is no letter or digit.
func asCGI(r rune) rune {
	switch {
	case 'a' <= r && r <= 'z', '0' <= r && r <= '9':
		return r
	case 'A' <= r && r <= 'Z':
		return r + 'a' - 'A'
	}
	return '-'
}

// reservedHeaders in lower case; one that ends with '-' stands for all that
// start with it.
var reservedHeaders = [...]string{
	"connection", "content-length", "host", "http2-settings", "keep-alive", "proxy-", "te", "trailer",
	"transfer-encoding", "upgrade",
	"authorization", "cookie", "date", "expect", "forwarded", "origin", "range", "referer", "set-cookie",
	"user-agent", "via", "x-forwarded-", "x-real-ip",
	"accept", "accept-", "cache-control", "content-", "if-",
	"b3", "baggage", "sw8", "traceparent", "tracestate", "uber-trace-id", "x-amzn-trace-id", "x-b3-",
	"x-datadog-", "x-graylane-", "x-request-id",
}
