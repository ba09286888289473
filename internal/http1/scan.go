package http1

import (
	"encoding/binary"
	"errors"
	"math/bits"
)

// The grammar of RFC 9112 for start lines and field lines, with none of the leniencies that it
// allows where two readers of a message could come to differ.

var (
	errMore      = errors.New("more bytes are needed")
	errBareLF    = errors.New("line ends without CR")
	errControl   = errors.New("control character")
	errFold      = errors.New("folded line")
	errName      = errors.New("bad header name")
	errConfusing = errors.New("header name that others may read as one of framing")
	errFields    = errors.New("too many header lines")
)

const maxFields = 256 // Apache and Envoy take 100 unless told otherwise; keeps lookups cheap under attack

// nextLine finds the end of the line that starts at b[from], not looking again at what was seen
// before b[seen]. It returns the index of the CR, errMore if the line is not complete, or the fault.
func nextLine(b []byte, from, seen int) (int, error) {
	i := max(from, seen)
	n := control(b[i:])
	if n < 0 {
		return 0, errMore
	}
	i += n
	switch {
	case b[i] == '\n':
		return 0, errBareLF
	case b[i] != '\r':
		return 0, errControl
	case i+1 == len(b):
		return 0, errMore
	case b[i+1] != '\n':
		return 0, errControl
	}
	return i, nil
}

// control is the index of the first control character in b other than a tab, or -1.
func control(b []byte) int {
	const (
		ones  = 0x0101010101010101
		highs = 0x8080808080808080
	)
	i := 0
	for ; i+8 <= len(b); i += 8 {
		x := binary.LittleEndian.Uint64(b[i:])
		del := x ^ 0x7f*ones
		// The high bit of every byte below 0x20, and of every byte that is 0x7f; a borrow can
		// only mark bytes above a true mark, so the lowest mark is right.
		marks := ((x-0x20*ones)&^x | (del-ones)&^del) & highs
		for marks != 0 {
			at := i + bits.TrailingZeros64(marks)/8
			if isControl(b[at]) {
				return at
			}
			marks &= marks - 1
		}
	}
	for ; i < len(b); i++ {
		if isControl(b[i]) {
			return i
		}
	}
	return -1
}

func isControl(c byte) bool { return c < ' ' && c != '\t' || c == 0x7f }

// scanFields reads field lines from h.raw = b until the empty line and returns where the section
// ends. It goes on where it stopped when called again with more bytes after errMore.
func (h *head) scanFields(b []byte, unfold bool) (int, error) {
	h.raw = b
	for {
		end, err := nextLine(b, h.at, h.seen)
		if err != nil {
			h.seen = max(h.at, len(b)-1) // the last byte may be a CR
			return 0, err
		}
		if end == h.at {
			return end + 2, nil
		}
		if b[h.at] == ' ' || b[h.at] == '\t' {
			if !unfold || len(h.fields) == 0 {
				return 0, errFold
			}
			h.unfold(end)
		} else if err := h.addLine(end); err != nil {
			return 0, err
		}
		h.at = end + 2
	}
}

// addLine takes the line h.raw[h.at:end].
func (h *head) addLine(end int) error {
	if len(h.fields) == maxFields {
		return errFields
	}
	b, colon := h.raw, h.at
	for colon < end && token[b[colon]] {
		colon++
	}
	if colon == h.at || colon == end || b[colon] != ':' {
		return errName
	}
	name := b[h.at:colon]
	if confusing(name) {
		return errConfusing
	}
	from, to := trim(b, colon+1, end)
	h.fields = append(h.fields, field{
		name:  span{uint32(h.at), uint32(colon)},
		value: span{uint32(from), uint32(to)},
		end:   uint32(end + 2),
		known: identify(name),
	})
	h.mask |= maskOf(name)
	return nil
}

// unfold joins the line h.raw[h.at:end] to the one before it, in place (RFC 9112 section 5.2: a
// proxy may do so with a reply).
func (h *head) unfold(end int) {
	f := &h.fields[len(h.fields)-1]
	h.raw[h.at-2], h.raw[h.at-1] = ' ', ' '
	from, to := trim(h.raw, int(f.value.from), end)
	f.value, f.end = span{uint32(from), uint32(to)}, uint32(end+2)
}

// trim takes spaces and tabs off both ends of b[from:to].
func trim(b []byte, from, to int) (int, int) {
	for from < to && (b[from] == ' ' || b[from] == '\t') {
		from++
	}
	for from < to && (b[to-1] == ' ' || b[to-1] == '\t') {
		to--
	}
	return from, to
}

// confusing says that a name differs from one that frames messages only by its punctuation:
// gateways that turn names into variables take Content_Length for Content-Length.
func confusing[T []byte | string](name T) bool {
	if len(name) < len("contentlength") {
		return false
	}
	switch fold(name[0]) {
	case 'c':
		return !equalFold(name, "content-length") && sameLetters(name, "contentlength")
	case 't':
		return !equalFold(name, "transfer-encoding") && sameLetters(name, "transferencoding")
	}
	return !alphanumeric(name[0]) && (sameLetters(name, "contentlength") || sameLetters(name, "transferencoding"))
}

func sameLetters[T []byte | string](name T, letters string) bool {
	i := 0
	for k := range len(name) {
		c := name[k]
		if !alphanumeric(c) {
			continue
		}
		if i == len(letters) || fold(c) != letters[i] {
			return false
		}
		i++
	}
	return i == len(letters)
}

func alphanumeric(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= fold(c) && fold(c) <= 'z'
}

// token marks the bytes of a token (RFC 9110 section 5.6.2).
var token = [256]bool{
	'!': true, '#': true, '$': true, '%': true, '&': true, '\'': true, '*': true, '+': true, '-': true, '.': true,
	'^': true, '_': true, '`': true, '|': true, '~': true, '0': true, '1': true, '2': true, '3': true, '4': true,
	'5': true, '6': true, '7': true, '8': true, '9': true, 'A': true, 'B': true, 'C': true, 'D': true, 'E': true,
	'F': true, 'G': true, 'H': true, 'I': true, 'J': true, 'K': true, 'L': true, 'M': true, 'N': true, 'O': true,
	'P': true, 'Q': true, 'R': true, 'S': true, 'T': true, 'U': true, 'V': true, 'W': true, 'X': true, 'Y': true,
	'Z': true, 'a': true, 'b': true, 'c': true, 'd': true, 'e': true, 'f': true, 'g': true, 'h': true, 'i': true,
	'j': true, 'k': true, 'l': true, 'm': true, 'n': true, 'o': true, 'p': true, 'q': true, 'r': true, 's': true,
	't': true, 'u': true, 'v': true, 'w': true, 'x': true, 'y': true, 'z': true,
}

// fold makes ASCII letters lower case.
func fold(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}

// equalFold compares with a name written in lower case.
func equalFold[T []byte | string](a T, name string) bool {
	if len(a) != len(name) {
		return false
	}
	for i := range len(a) {
		if fold(a[i]) != name[i] {
			return false
		}
	}
	return true
}
