package http1

import (
	"errors"
	"math"
)

// framing is how the end of a body is found (RFC 9112 section 6.3).
type framing uint8

const (
	noBody framing = iota
	byLength
	byChunks
	byClose
)

// body follows the framing of one body while its bytes pass.
type body struct {
	framing framing
	done    bool
	left    int64 // byLength: bytes to come
	chunks  chunks
}

func (b *body) start(f framing, length, limit int64) {
	*b = body{framing: f, left: length, chunks: chunks{limit: limit}}
	b.done = f == noBody || f == byLength && length == 0
}

// take says how many of the bytes p belong to the body and may be passed on now; the rest is either
// the beginning of something that has to be seen whole first, or, once done is set, not of the body.
func (b *body) take(p []byte) (int, error) {
	switch b.framing {
	case byLength:
		n := int(min(b.left, int64(len(p))))
		b.left -= int64(n)
		b.done = b.left == 0
		return n, nil
	case byChunks:
		n, err := b.chunks.take(p)
		b.done = b.chunks.state == ended
		return n, err
	case byClose:
		return len(p), nil
	}
	return 0, nil
}

var (
	errChunk   = errors.New("bad chunk")
	errTrailer = errors.New("trailer that may not be one")
	errLine    = errors.New("line of a chunked body is too long")
	errTooMuch = errors.New("body is larger than allowed")
)

const (
	maxLine    = 4 << 10  // one chunk-size line or trailer line: has to fit into every buffer
	maxTrailer = 64 << 10 // all trailer lines of a body
)

// chunks reads chunked framing (RFC 9112 section 7.1), strictly.
type chunks struct {
	state    chunkState
	left     int64 // of the chunk's data
	size     int64 // of all data so far
	limit    int64 // of size; 0: none
	trailers int   // bytes of trailer lines
}

type chunkState uint8

const (
	atSize chunkState = iota
	inData
	atDataEnd
	inTrailers
	ended
)

// take validates framing and data at the front of p and returns how many bytes that is.
func (c *chunks) take(p []byte) (int, error) {
	n := 0
	for c.state != ended {
		frame, data, err := c.step(p[n:])
		if err != nil {
			return n, err
		}
		if frame+data == 0 {
			break
		}
		n += frame + data
	}
	return n, nil
}

// step takes one piece of framing, then the data that follows it. Both 0: more bytes are needed.
func (c *chunks) step(p []byte) (frame, data int, err error) {
	switch c.state {
	case atSize, inTrailers:
		if frame, err = c.line(p); err != nil || frame == 0 {
			return 0, 0, err
		}
	case atDataEnd:
		if len(p) > 0 && p[0] != '\r' || len(p) > 1 && p[1] != '\n' {
			return 0, 0, errChunk
		}
		if len(p) < 2 {
			return 0, 0, nil
		}
		c.state = atSize
		return 2, 0, nil
	}
	if c.state == inData {
		data = int(min(c.left, int64(len(p)-frame)))
		if c.left -= int64(data); c.left == 0 {
			c.state = atDataEnd
		}
	}
	return frame, data, nil
}

// line takes a whole line, with its CRLF; 0 if it is not complete.
func (c *chunks) line(p []byte) (int, error) {
	end, err := nextLine(p, 0, 0)
	if err == errMore && len(p) < maxLine {
		return 0, nil
	}
	if err == errMore || err == nil && end > maxLine {
		return 0, errLine
	}
	if err != nil {
		return 0, err
	}
	if c.state == atSize {
		err = c.sizeLine(p[:end])
	} else {
		err = c.trailerLine(p[:end])
	}
	return end + 2, err
}

// sizeLine reads chunk-size and steps over extensions.
func (c *chunks) sizeLine(line []byte) error {
	size, i := int64(0), 0
	for ; i < len(line); i++ {
		digit, ok := hexDigit(line[i])
		if !ok {
			break
		}
		if size > math.MaxInt64>>4 {
			return errChunk
		}
		size = size<<4 | digit
	}
	if i == 0 || !extension(line[i:]) {
		return errChunk
	}
	if c.size > math.MaxInt64-size {
		return errChunk
	}
	c.left, c.size = size, c.size+size
	if c.limit > 0 && c.size > c.limit {
		return errTooMuch
	}
	c.state = inData
	if size == 0 {
		c.state = inTrailers
	}
	return nil
}

// extension says that rest is empty or starts as chunk extensions do.
func extension(rest []byte) bool {
	from, _ := trim(rest, 0, len(rest))
	return len(rest) == 0 || from < len(rest) && rest[from] == ';'
}

func (c *chunks) trailerLine(line []byte) error {
	if len(line) == 0 {
		c.state = ended
		return nil
	}
	if c.trailers += len(line); c.trailers > maxTrailer {
		return errLine
	}
	n := 0
	for n < len(line) && token[line[n]] {
		n++
	}
	if n == 0 || n == len(line) || line[n] != ':' || confusing(line[:n]) {
		return errName
	}
	if forbiddenTrailer(line[:n]) {
		return errTrailer
	}
	return nil
}

// forbiddenTrailer names what frames, routes or authenticates a message, and so cannot come after
// its body (RFC 9110 section 6.5.1).
func forbiddenTrailer(name []byte) bool {
	if identify(name) != other {
		return true
	}
	for _, s := range [...]string{
		"authorization", "content-encoding", "content-type", "content-range", "cookie", "set-cookie",
		"max-forwards", "range", "www-authenticate", "proxy-authenticate",
	} {
		if equalFold(name, s) {
			return true
		}
	}
	return false
}

func hexDigit(c byte) (int64, bool) {
	switch {
	case '0' <= c && c <= '9':
		return int64(c - '0'), true
	case 'a' <= fold(c) && fold(c) <= 'f':
		return int64(fold(c)-'a') + 10, true
	}
	return 0, false
}
