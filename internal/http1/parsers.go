package http1

import (
	"bufio"
	"bytes"
	"errors"

	"github.com/valyala/fasthttp"
)

var errDisagree = errors.New("two parsers read the head differently")

// parsers reads heads a second time, with fasthttp. What two parsers read differently, a third one
// behind us may read in yet another way: such a head is refused.
type parsers struct {
	src     bytes.Reader
	in      *bufio.Reader
	request fasthttp.RequestHeader
	reply   fasthttp.ResponseHeader
}

func newParsers() *parsers {
	p := &parsers{in: bufio.NewReaderSize(nil, small)}
	p.request.DisableNormalizing()
	p.request.SetNoDefaultContentType(true)
	p.reply.DisableNormalizing()
	p.reply.SetNoDefaultContentType(true)
	return p
}

// open returns a reader of head.
func (p *parsers) open(head []byte) *bufio.Reader {
	p.src.Reset(head)
	if len(head) > small {
		return bufio.NewReaderSize(&p.src, len(head))
	}
	p.in.Reset(&p.src)
	return p.in
}

// agree compares with what r has read.
func (p *parsers) agree(r *Request) error {
	h := &p.request
	if err := h.Read(p.open(r.head.raw)); err != nil {
		return err
	}
	raw := r.head.raw
	same := bytes.Equal(h.Method(), r.Method()) &&
		bytes.Equal(h.RequestURI(), raw[r.target.from:r.target.to]) &&
		(r.form == absoluteForm || bytes.Equal(h.Host(), r.head.get("host"))) &&
		h.ContentLength() == contentLength(r.framing, r.length) &&
		(r.minor == 0 || h.ConnectionClose() == !r.keepAlive)
	if !same {
		return errDisagree
	}
	return nil
}

// agreeReply compares with what r has read.
func (p *parsers) agreeReply(r *reply) error {
	h := &p.reply
	if err := h.Read(p.open(r.head.raw)); err != nil {
		return err
	}
	if h.StatusCode() != r.status || r.framing != noBody && h.ContentLength() != contentLength(r.framing, r.length) {
		return errDisagree
	}
	return nil
}

// contentLength is how fasthttp writes framing.
func contentLength(f framing, length int64) int {
	switch f {
	case byLength:
		return int(length)
	case byChunks:
		return -1
	}
	return -2
}
