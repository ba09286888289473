package http2

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"net/http"
	"net/textproto"
	"strings"
)

// farEnd is the far end of a bridge. net/http reads bodies there, and writes replies.
// Of the head it gets to see what it needs for that alone, since it would change some
// of the rest, and refuse some.
type farEnd struct {
	net.Conn
	in    *bufio.Reader
	shown []byte // of the head, what net/http has not read yet

	target string
	header http.Header // nil until it was read
}

func newFarEnd(c net.Conn) *farEnd { return &farEnd{Conn: c, in: bufio.NewReader(c)} }

// Read is net/http's, and called by one goroutine at a time.
func (e *farEnd) Read(p []byte) (int, error) {
	if e.header == nil {
		if err := e.readHead(); err != nil {
			return 0, err
		}
	}
	if len(e.shown) > 0 {
		n := copy(p, e.shown)
		e.shown = e.shown[n:]
		return n, nil
	}
	return e.in.Read(p)
}

// readHead reads what package http1 has checked.
func (e *farEnd) readHead() error {
	in := textproto.NewReader(e.in)
	line, err := in.ReadLine()
	if err != nil {
		return err
	}
	method, rest, _ := strings.Cut(line, " ")
	target, version, _ := strings.Cut(rest, " ")
	header, err := in.ReadMIMEHeader()
	if err != nil {
		return err
	}
	e.target, e.header = originForm(method, target), http.Header(header)
	e.show(method, version)
	return nil
}

// originForm is a target without the host, which HTTP/2 has elsewhere. HTTP/1 sends it to
// who was meant to be its proxy.
func originForm(method, target string) string {
	_, rest, absolute := strings.Cut(target, "://")
	if !absolute || target[0] == '/' {
		return target
	}
	at := strings.IndexAny(rest, "/?#")
	switch {
	case at < 0 && method == http.MethodOptions:
		return "*"
	case at < 0:
		return "/"
	case rest[at] == '/':
		return rest[at:]
	}
	return "/" + rest[at:]
}

func (e *farEnd) show(method, version string) {
	target := "/"
	if method == http.MethodConnect {
		target = e.target // which is its host
	}
	var head bytes.Buffer
	fmt.Fprintf(&head, "%s %s %s\r\n", method, target, version)
	for _, name := range [...]string{"Host", "Content-Length", "Transfer-Encoding", "Trailer", "Expect"} {
		for _, value := range e.header[name] {
			if name != "Expect" || strings.EqualFold(value, "100-continue") {
				fmt.Fprintf(&head, "%s: %s\r\n", name, value)
			}
		}
	}
	head.WriteString("\r\n")
	e.shown = head.Bytes()
}

// restore makes r, the request that net/http has made of what it saw, what was sent.
func (e *farEnd) restore(r *http.Request) {
	r.RequestURI, r.Header = e.target, e.header
	delete(r.Header, "Host")
	if r.Trailer != nil {
		delete(r.Header, "Trailer") // it says the same
	}
	dropHopFields(r.Header)
}
