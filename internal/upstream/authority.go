package upstream

import "bytes"

// maxAuthority is a DNS name of 253 bytes, a colon and five digits, rounded up.
const maxAuthority = 264

// appendPort appends the authority's port to dst, with its colon. An authority
// without one means 80, since what arrives here is plain HTTP (RFC 9110,
// section 4.2.1).
func appendPort(dst, authority []byte) []byte {
	if i := portAt(authority); i >= 0 {
		return append(dst, authority[i:]...)
	}
	return append(dst, ":80"...)
}

// portAt returns where the colon and port of an authority begin, -1 if it has no
// port. The colons of a bracketed IPv6 address begin none.
func portAt(authority []byte) int {
	i := bytes.LastIndexByte(authority, ':')
	if i < 0 || i == len(authority)-1 || bytes.IndexByte(authority[i:], ']') >= 0 {
		return -1
	}
	return i
}
