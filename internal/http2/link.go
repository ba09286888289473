package http2

import (
	"net"
	"net/http"
	"sync"
	"sync/atomic"

	"graylane/internal/http1"
)

// link is one connection to an origin. Until the origin has said how many streams
// it takes, it gets one at a time.
type link struct {
	*greeting
	http    *http.ClientConn // nil until made is closed, and then if it could not be
	made    chan struct{}    // closed when the connection is there, or cannot be
	settled chan struct{}    // closed when it is known how many streams it takes

	// When it has settled:
	fault  *http1.Error // why it is of no use to who waits; nil: it is, or has just ended
	barren bool         // it takes no stream, as it seems
}

// linkKey is the key of the link in the context in which it is dialed.
type linkKey struct{}

func newLink() *link {
	return &link{made: make(chan struct{}), settled: make(chan struct{})}
}

func (l *link) hasSettled() bool {
	select {
	case <-l.settled:
		return true
	default:
		return false
	}
}

// reserve takes a stream, if there is one. It, takesNone and useless are for who alone
// can reserve.
func (l *link) reserve() bool {
	return (l.hasSettled() || l.http.InFlight() == 0) && l.http.Reserve() == nil
}

// takesNone tells that nobody gets a stream, although nobody has one.
func (l *link) takesNone() bool {
	return l.http.Err() != nil || l.http.InFlight() == 0 && l.http.Available() == 0
}

// useless tells that the link has ended, or that it takes nothing after all.
func (l *link) useless() bool {
	return l.http.Err() != nil || l.hasSettled() && l.takesNone()
}

// leave closes the connection when it has no stream any more, or has none now.
func (l *link) leave() {
	leave(l.http)
	l.http.SetStateHook(leave)
}

func leave(c *http.ClientConn) {
	if c.InFlight() == 0 {
		_ = c.Close() // of a connection without streams
	}
}

// greeting is a connection to an origin that watches for the first frame from it,
// its settings (RFC 9113, section 3.4). net/http tells neither that it has taken
// them nor that something else came.
type greeting struct {
	net.Conn
	first   sync.Once
	unread  []byte // of what came first
	left    int    // bytes of the first frame that were not read yet
	foreign atomic.Bool
	end     sync.Once
	over    chan struct{} // closed when the first frame was taken, or never will be
}

func newGreeting(conn net.Conn) *greeting {
	return &greeting{Conn: newGathered(conn, moment), over: make(chan struct{})}
}

// Read is called by one goroutine, which takes frames: when it wants more than the
// first, it has taken that.
func (g *greeting) Read(p []byte) (n int, err error) {
	g.first.Do(g.hear)
	if g.left == 0 {
		g.done()
	}
	if len(g.unread) > 0 {
		n = copy(p, g.unread)
		g.unread = g.unread[n:]
	} else {
		n, err = g.Conn.Read(p)
	}
	g.left -= min(n, g.left)
	return n, err
}

// Write fails only after what the origin has said was heard: who does not speak
// HTTP/2 may answer and close before all of a request is written.
func (g *greeting) Write(p []byte) (int, error) {
	n, err := g.Conn.Write(p)
	if err != nil {
		g.first.Do(g.hear)
	}
	return n, err
}

// Close may be called more than once.
func (g *greeting) Close() error {
	err := g.Conn.Close()
	g.done()
	return err
}

func (g *greeting) done() { g.end.Do(func() { close(g.over) }) }

const frameHead = 9 // bytes: three of length, kind, flags, four of the stream (RFC 9113, section 4.1)

// hear waits for the head of the first frame.
func (g *greeting) hear() {
	head, n, err := make([]byte, frameHead), 0, error(nil)
	for n < frameHead && err == nil && beginsHTTP2(head[:n]) {
		var more int
		more, err = g.Conn.Read(head[n:]) // the next read will fail as well
		n += more
	}
	g.foreign.Store(!beginsHTTP2(head[:n]))
	g.unread = head[:n]
	g.left = frameHead + (int(head[0])<<16 | int(head[1])<<8 | int(head[2]))
}

// beginsHTTP2 tells whether b may be the start of a SETTINGS frame.
func beginsHTTP2(b []byte) bool {
	const kind, settings = 3, 4
	return len(b) == 0 || b[0] == 0 && (len(b) <= kind || b[kind] == settings)
}
