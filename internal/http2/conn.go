package http2

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

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
	k := &conn{gathered: newGathered(ours{c}, parting), dst: dst}
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

// parting is how long a caller has to read what was sent before the end.
const parting = 5 * time.Second

// ours is a connection of which Close closes our half, and whoever reads it.
type ours struct{ net.Conn }

func (o ours) Close() error {
	c, ok := o.Conn.(interface{ CloseWrite() error })
	if !ok {
		return o.Conn.Close()
	}
	_ = o.SetReadDeadline(time.Unix(1, 0)) // a closed one has none, which is as well
	return c.CloseWrite()
}

// part ends a connection so that the caller can read what was sent: an end with bytes
// unread, or more of them coming, would make our kernel throw away what it still has to
// send.
func part(c net.Conn) {
	// No deadline, which heads may move, whose last Read may not have ended yet.
	late := time.AfterFunc(parting, func() { _ = c.Close() })
	defer late.Stop()
	_ = c.SetReadDeadline(time.Time{})
	_, _ = io.Copy(io.Discard, c) // whatever ends it, the connection does
	_ = c.Close()
}

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
