package policy

import "bytes"

// normalPath appends the form of path that rules see to dst: escapes decoded
// once, runs of slashes one slash, dot segments resolved (RFC 3986 section
// 5.2.4, applied after decoding, so that %2e%2e and %2F hide nothing). A backslash is
// a slash, and parameters do not hide a dot segment (`..;x`), since some apps read
// them so. What is forwarded stays as it was sent.
func normalPath(dst, path []byte) []byte {
	start := len(dst)
	if len(path) == 0 || path[0] != '/' {
		return append(dst, path...) // `*` of OPTIONS
	}
	dst = append(dst, '/')
	for i := 0; i < len(path); {
		segment := len(dst)
		for ; i < len(path); i++ {
			c, width := unescape(path[i:])
			if c == '/' || c == '\\' {
				break
			}
			dst = append(dst, c)
			i += width - 1
		}
		slash := i < len(path)
		if slash {
			_, width := unescape(path[i:])
			i += width
		}
		switch string(dots(dst[segment:])) {
		case "", ".":
			dst = dst[:segment]
		case "..":
			dst = parent(dst[:segment], start)
		default:
			if slash {
				dst = append(dst, '/')
			}
		}
	}
	return dst
}

// dots gives a dot segment without its parameters, and any other as it is.
func dots(segment []byte) []byte {
	if name, _, _ := bytes.Cut(segment, []byte(";")); string(name) == "." || string(name) == ".." {
		return name
	}
	return segment
}

// isNormal tells whether path is in that form already, as most are. It may say
// no for one that is.
func isNormal(path []byte) bool {
	if len(path) == 0 || path[0] != '/' {
		return true
	}
	for i, c := range path {
		if c == '%' || c == '\\' || c == '/' && i+1 < len(path) && (path[i+1] == '/' || path[i+1] == '.') {
			return false
		}
	}
	return true
}

// parent cuts the last segment off the path that starts at start and ends
// with a slash.
func parent(dst []byte, start int) []byte {
	end := len(dst) - 1
	for end > start && dst[end-1] != '/' {
		end--
	}
	if end == start {
		return dst[:start+1]
	}
	return dst[:end]
}

// unescape returns the first byte that s stands for and how many bytes of s
// that took. An escape that is none stands for itself.
func unescape(s []byte) (c byte, width int) {
	if s[0] != '%' || len(s) < 3 {
		return s[0], 1
	}
	hi, ok1 := unhex(s[1])
	lo, ok2 := unhex(s[2])
	if !ok1 || !ok2 {
		return '%', 1
	}
	return hi<<4 | lo, 3
}

func unhex(c byte) (byte, bool) {
	switch {
	case '0' <= c && c <= '9':
		return c - '0', true
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10, true
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}
