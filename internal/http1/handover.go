package http1

import (
	"bytes"
	"net"
)

// preface is what a connection of HTTP/2 begins with (RFC 9113 section 3.4). No request of HTTP/1
// can be taken for it.
const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

// speaksHTTP2 waits for as long as what has come may become the preface.
func (k *caller) speaksHTTP2() bool {
	for {
		b := k.wire.unread()
		n := min(len(b), len(preface))
		switch {
		case string(b[:n]) != preface[:n]:
			return false
		case n == len(preface):
			return true
		case !k.guard.within(k.server.cfg.HeadTimeout) || k.wire.fill() != nil:
			return false
		}
	}
}

// handOver gives the connection to who serves HTTP/2, with what was read from it.
func (k *caller) handOver(c net.Conn) {
	begun := &begun{Conn: c, prefix: bytes.Clone(k.wire.unread()), via: k.via}
	k.wire.consume(len(begun.prefix))
	k.wire.release()
	k.server.watch.remove(k)
	k.wire.calm() // the watch may have cut it just before
	k.server.cfg.HTTP2(begun, k.dst)
}

// begun is a connection of which the first bytes were read.
type begun struct {
	net.Conn
	prefix []byte
	via    []byte // nil: not in a tunnel
}

// Via is the target of the tunnel that the connection is in.
func (c *begun) Via() []byte { return c.via }

// Read gives what was read, and then what comes.
func (c *begun) Read(p []byte) (int, error) {
	if len(c.prefix) == 0 {
		return c.Conn.Read(p)
	}
	n := copy(p, c.prefix)
	c.prefix = c.prefix[n:]
	return n, nil
}

// CloseWrite says that nothing more is sent.
func (c *begun) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return c.Close()
}
