package http2

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"net/netip"
	"sync"

	"graylane/internal/http1"
)

// conn is one connection of a caller.
type conn struct {
	*gathered
	in        *bufio.Reader // of heads
	peer, dst netip.AddrPort
	via       []byte // target of the tunnel that it is in, nil for none
}

// connKey is the key of a connection in the context of its requests.
type connKey struct{}

func withConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

func (s *Server) newConn(c net.Conn, dst netip.AddrPort) *conn {
	k := &conn{gathered: newGathered(c), dst: dst}
	k.in = bufio.NewReader(newHeads(c, s.cfg.HeadTimeout, func() {
		s.refused(&http1.Error{Op: "read", Reason: http1.CallerTimeout})
	}))
	if t, ok := c.(interface{ Via() []byte }); ok {
		k.via = t.Via()
	}
	if a, ok := c.RemoteAddr().(*net.TCPAddr); ok {
		ap := a.AddrPort()
		k.peer = netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port())
	}
	return k
}

// Read gives what the caller sends. net/http asks for little at a time.
func (c *conn) Read(p []byte) (int, error) { return c.in.Read(p) }

// feed is a net.Listener of connections that others have accepted.
type feed struct {
	conns  chan *conn
	closed chan struct{}
	once   sync.Once
}

func newFeed() *feed { return &feed{conns: make(chan *conn), closed: make(chan struct{})} }

// put hands a connection on; not, if the feed is closed.
func (f *feed) put(c *conn) bool {
	select {
	case f.conns <- c:
		return true
	case <-f.closed:
		return false
	}
}

// Accept gives the next connection.
func (f *feed) Accept() (net.Conn, error) {
	select {
	case c := <-f.conns:
		return c, nil
	case <-f.closed:
		return nil, http.ErrServerClosed
	}
}

// Close ends Accept.
func (f *feed) Close() error {
	f.once.Do(func() { close(f.closed) })
	return nil
}

// Addr is that of no socket.
func (f *feed) Addr() net.Addr { return &net.TCPAddr{} }
