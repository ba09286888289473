package http2

import (
	"errors"
	"net"
	"os"
	"time"
)

// heads reads what a caller sends and gives each head a time in which to come whole,
// which net/http does not. Only ending the connection ends a head (RFC 9113, section
// 4.3), and until then nothing else can come on it.
type heads struct {
	net.Conn
	most time.Duration // from the first byte of a head to its last; 0 or below: no limit
	late func()        // called when that was not kept

	at    frames
	until time.Time // for the rest of a head, once it is waited for
	armed bool      // the connection's deadline is ours
}

func newHeads(c net.Conn, most time.Duration, late func()) *heads {
	return &heads{Conn: c, most: most, late: late, at: frames{left: len(preface)}}
}

const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" // net/http has a limit for it

// Read is called by one goroutine. A head that is there in one piece costs no more
// than a look.
func (h *heads) Read(p []byte) (int, error) {
	h.arm()
	n, err := h.Conn.Read(p)
	if h.armed && errors.Is(err, os.ErrDeadlineExceeded) && !time.Now().Before(h.until) { // else we close it
		h.late()
	}
	for p = p[:n]; len(p) > 0; {
		p = p[h.at.take(p):]
		if !h.at.inHead() {
			h.until = time.Time{}
		}
	}
	return n, err
}

// arm sets the deadline for what the next Read waits for.
func (h *heads) arm() {
	inHead := h.most > 0 && h.at.inHead()
	switch {
	case inHead && h.until.IsZero():
		h.until = time.Now().Add(h.most)
	case inHead || !h.armed:
		return
	}
	_ = h.SetReadDeadline(h.until) // the only error is that of a closed connection
	h.armed = inHead
}

// frames knows where in a caller's frames a reader is.
type frames struct {
	head [frameHead]byte
	n    int  // bytes of head that are known; all: the frame's payload is being read
	left int  // bytes of the payload, or of the preface, that are to come
	open bool // a head has begun whose last frame has not
}

// take takes a part of p, some of it at least.
func (f *frames) take(p []byte) int {
	if f.left > 0 {
		n := min(f.left, len(p))
		f.left -= n
		return n
	}
	if f.n == frameHead {
		f.n = 0
	}
	n := copy(f.head[f.n:], p)
	if f.n += n; f.n == frameHead {
		f.begin()
	}
	return n
}

// Of a frame that belongs to a head (RFC 9113, section 6).
const (
	kindHeaders      = 0x1
	kindContinuation = 0x9
	flagEndHeaders   = 0x4
)

func (f *frames) begin() {
	f.left = int(f.head[0])<<16 | int(f.head[1])<<8 | int(f.head[2])
	if f.ofHead() {
		f.open = f.head[4]&flagEndHeaders == 0
	}
}

func (f *frames) ofHead() bool { return f.head[3] == kindHeaders || f.head[3] == kindContinuation }

// inHead tells whether a head has begun and not ended, or may have: the first bytes
// of a frame do not say what it is.
func (f *frames) inHead() bool {
	return f.open || 0 < f.n && f.n < frameHead || f.left > 0 && f.ofHead()
}
