package listen

import (
	"bytes"
	"slices"
	"strings"
)

// Protocol is what a connection speaks.
type Protocol uint8

// What connections speak.
const (
	Unknown Protocol = iota // more bytes are needed
	HTTP1                   // HTTP/1.x, or so much like it that a server might take it for that
	H2C                     // HTTP/2 without TLS, by its preface (RFC 9113, 3.4)
	TLS                     // a TLS ClientHello
	TCP                     // anything else
)

// String gives the name for logs and metrics.
func (p Protocol) String() string {
	return [...]string{"unknown", "http1", "h2c", "tls", "tcp"}[p]
}

const (
	preface  = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
	maxEmpty = 32   // bytes of empty lines before a request
	maxToken = 32   // bytes of a method; the longest registered has 17
	maxLine  = 8192 // nothing but HTTP sends a word, a blank and this much without a line's end
)

// classify says what a caller speaks whose first bytes are p. Once it has said so,
// more bytes do not change it; Unknown means that it depends on them.
func classify(p []byte) Protocol {
	switch {
	case len(p) == 0:
		return Unknown
	case p[0] == recordHandshake:
		return classifyTLS(p)
	case strings.HasPrefix(preface, string(p[:min(len(p), len(preface))])):
		if len(p) < len(preface) {
			return Unknown
		}
		return H2C
	}
	return classifyText(p)
}

// classifyText looks for a request line: a method, a blank, and HTTP/ behind
// another blank before the line's end. Servers differ in what else they let
// through, so nothing else counts; empty lines before it are skipped as servers
// do (RFC 9112, 2.2).
func classifyText(p []byte) Protocol {
	line := bytes.TrimLeft(p, "\r\n")
	if len(p)-len(line) > maxEmpty {
		return TCP
	}
	method := tokenLen(line)
	switch {
	case len(line) == 0:
		return Unknown
	case method == 0 || method > maxToken:
		return TCP
	case method == len(line):
		return Unknown
	case !blank(line[method]):
		return TCP
	}
	rest := line[method:]
	end := bytes.IndexByte(rest, '\n')
	if end >= 0 {
		rest = rest[:end]
	}
	switch {
	case namesHTTP(rest[:min(len(rest), maxLine)]):
		return HTTP1
	case end >= 0 && end < maxLine:
		return TCP
	case len(rest) >= maxLine:
		return HTTP1 // and too long, most likely, which its server answers
	default:
		return Unknown
	}
}

// namesHTTP looks for HTTP/ behind a blank.
func namesHTTP(p []byte) bool {
	const name = "HTTP/"
	for i := 1; i+len(name) <= len(p); i++ {
		if blank(p[i-1]) && strings.EqualFold(string(p[i:i+len(name)]), name) {
			return true
		}
	}
	return false
}

// tokenLen is the length of the token (RFC 9110, 5.6.2) that p begins with.
func tokenLen(p []byte) int {
	n := bytes.IndexFunc(p, func(r rune) bool { return !tokenRune(r) })
	if n < 0 {
		return len(p)
	}
	return n
}

func tokenRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
		r < 0x80 && strings.ContainsRune("!#$%&'*+-.^_`|~", r)
}

func blank(b byte) bool { return b == ' ' || b == '\t' }

// likelyHTTP tells, of bytes that classify as Unknown, those that begin with a
// registered method or with a part of one.
func likelyHTTP(p []byte) bool {
	line := bytes.TrimLeft(p, "\r\n")
	method := string(line[:min(tokenLen(line), maxToken)])
	if method == "" {
		return false
	}
	if len(method) < len(line) {
		return slices.Contains(methods, method)
	}
	return slices.ContainsFunc(methods, func(m string) bool { return strings.HasPrefix(m, method) })
}

// methods is IANA's registry of HTTP methods, and what caches and searches use.
var methods = []string{
	"GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "CONNECT", "TRACE", "PRI",
	"ACL", "BASELINE-CONTROL", "BIND", "CHECKIN", "CHECKOUT", "COPY", "LABEL", "LINK", "LOCK",
	"MERGE", "MKACTIVITY", "MKCALENDAR", "MKCOL", "MKREDIRECTREF", "MKWORKSPACE", "MOVE",
	"ORDERPATCH", "PROPFIND", "PROPPATCH", "QUERY", "REBIND", "REPORT", "SEARCH", "UNBIND",
	"UNCHECKOUT", "UNLINK", "UNLOCK", "UPDATE", "UPDATEREDIRECTREF", "VERSION-CONTROL",
	"BAN", "NOTIFY", "PURGE", "SUBSCRIBE", "UNSUBSCRIBE",
}
