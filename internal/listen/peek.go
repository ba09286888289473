package listen

import (
	"errors"
	"io"
	"net"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// maxPeek is how many first bytes are looked at: the longest ClientHello and its
// record heads. A socket holds more than that.
const maxPeek = maxHello + 1<<10

// smallPeek holds the first bytes of nearly all connections.
const smallPeek = 4 << 10

// peeker looks at a connection's first bytes and leaves them there, so that none
// can be lost and whoever serves the connection reads it from its start.
type peeker struct {
	raw   syscall.RawConn
	first []byte     // was read already, and counts as seen
	pool  *sync.Pool // of *[smallPeek]byte
	small *[smallPeek]byte
	buf   []byte // nil while there is nothing to look at
	n     int    // bytes seen
	ended bool   // the peer sends no more
	err   error
}

func newPeeker(conn *net.TCPConn, first []byte, pool *sync.Pool) (*peeker, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, err
	}
	return &peeker{raw: raw, first: first[:min(len(first), maxPeek)], pool: pool}, nil
}

// more waits until there are more bytes than it gave last, and gives all, valid
// until the next call, whatever the error. io.EOF says that no more will come, or
// that there are maxPeek. The connection's read deadline holds.
func (p *peeker) more() ([]byte, error) {
	p.err = nil
	if p.n < maxPeek && !p.ended {
		if err := p.wait(); err != nil {
			return p.buf[:p.n], err
		}
	}
	if p.err == nil && (p.n == maxPeek || p.ended) {
		return p.buf[:p.n], io.EOF
	}
	return p.buf[:p.n], p.err
}

// wait looks before it waits: what is there counts, even if the deadline is over.
func (p *peeker) wait() error {
	var seen bool
	if err := p.raw.Control(func(fd uintptr) { seen = p.look(fd) }); err != nil || seen {
		return err
	}
	return p.raw.Read(p.look)
}

// look is called whenever something has happened to the socket, and says whether
// that was worth waking up for.
func (p *peeker) look(fd uintptr) bool {
	if p.buf == nil {
		p.borrow()
	}
	n, err := p.peek(int(fd))
	if n == len(p.buf) && n < maxPeek {
		p.buf = make([]byte, maxPeek)
		n, err = p.peek(int(fd))
	}
	silent := errors.Is(err, unix.EAGAIN)
	switch {
	case silent && n == 0:
		p.release() // a silent peer takes no memory
		return false
	case err != nil && !silent:
		p.err = err
		return true
	case n > p.n:
		p.n = n
		return true
	case n > 0 && !finished(int(fd)):
		return false
	}
	last, _ := p.peek(int(fd)) // may have come with the end, after the look
	p.ended = last <= p.n
	p.n = max(p.n, last)
	return true
}

func (p *peeker) borrow() {
	small, ok := p.pool.Get().(*[smallPeek]byte)
	if !ok {
		small = new([smallPeek]byte)
	}
	p.small, p.buf = small, small[:]
}

// peek fills the buffer with what was read and what is there, as far as it goes.
func (p *peeker) peek(fd int) (int, error) {
	n := copy(p.buf, p.first)
	more, err := peek(fd, p.buf[n:])
	return n + more, err
}

// release gives the buffer back.
func (p *peeker) release() {
	if p.small != nil {
		p.pool.Put(p.small)
	}
	p.small, p.buf = nil, nil
}

func peek(fd int, b []byte) (int, error) {
	for {
		n, _, err := unix.Recvfrom(fd, b, unix.MSG_PEEK|unix.MSG_DONTWAIT)
		if !errors.Is(err, unix.EINTR) {
			return max(n, 0), err
		}
	}
}

// finished tells whether the peer has ended its side, which a look at bytes that
// are still there cannot tell.
func finished(fd int) bool {
	events := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
	n, err := unix.Poll(events, 0)
	return n > 0 && err == nil
}

// longAgo is a deadline that ends a wait at once.
func longAgo() time.Time { return time.Unix(1, 0) }
