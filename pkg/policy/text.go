package policy

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

// countValues returns about how many values the YAML in data has, keys included,
// and seldom fewer than it has: by the marks that begin one, without a tree, since
// the tree is what takes the memory. Text that looks like marks counts too.
func countValues(data []byte) int {
	const pair = 2  // a key and its value
	count := 1      // the document
	alone := false  // there is text since the last bracket or comma
	paired := false // and a colon
	for i, c := range data {
		switch c {
		case '[', '{':
			count++
			alone, paired = false, false
		case ']', '}', ',':
			if alone && !paired {
				count += pair // in a mapping, a key without a value is both
			}
			alone, paired = false, false
		case ':':
			if !inWord(data, i) {
				count += pair
				paired = true
			}
		case '-', '?':
			if i+1 == len(data) || isBlank(data[i+1]) {
				count++
			}
		default:
			alone = alone || !isBlank(c)
		}
	}
	return count
}

// inWord tells whether the colon at i can part no key from its value, as in 10:00
// and http://users.
func inWord(data []byte, i int) bool {
	return i > 0 && i+1 < len(data) && isWordByte(data[i-1]) && (isWordByte(data[i+1]) || data[i+1] == '/')
}

func isWordByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

func isBlank(c byte) bool { return strings.IndexByte(" \t\r\n", c) >= 0 }

// isUTF16 tells whether data begins as UTF-16 text: with a mark of its byte order,
// or with half of a character being 0.
func isUTF16(data []byte) bool {
	return len(data) >= 2 && (data[0] == 0 || data[1] == 0 || data[0]^data[1] == 0xff^0xfe && data[0]|data[1] == 0xff)
}

// notText returns the first thing in data that cannot stand in YAML (version 1.2,
// section 5.1), nil if there is none. A byte order mark may stand in front.
func notText(data []byte) *Fault {
	at := len(data) - len(bytes.TrimPrefix(data, []byte("\uFEFF")))
	for at < len(data) {
		r, width := utf8.DecodeRune(data[at:])
		switch {
		case r == utf8.RuneError && width == 1:
			return faultAt(data, at, fmt.Sprintf("byte %#02x, want UTF-8 text", data[at]))
		case !isText(r):
			return faultAt(data, at, fmt.Sprintf("%U, want text without control characters", r))
		}
		at += width
	}
	return nil
}

func isText(r rune) bool {
	switch {
	case r == '\t', r == '\n', r == '\r', r == 0x85:
		return true
	case r < ' ', 0x7f <= r && r < 0xa0, r == 0xfeff, r == 0xfffe, r == 0xffff:
		return false
	}
	return true
}
