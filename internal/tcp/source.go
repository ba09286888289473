package tcp

import (
	"errors"
	"io"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// source waits for bytes of a connection without taking them.
type source struct {
	conn  *net.TCPConn
	raw   syscall.RawConn
	looks func(fd uintptr) bool // look, made once, since each making allocates
	rest  io.LimitedReader
	ready int
	err   error
	one   [1]byte
}

func newSource(conn *net.TCPConn) (*source, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, err
	}
	s := &source{conn: conn, raw: raw}
	s.looks = s.look
	return s, nil
}

// moveTo waits for bytes and moves what there is. io.EOF says that the peer has ended
// its side.
func (s *source) moveTo(to *net.TCPConn) (int64, error) {
	ready, err := s.wait()
	switch {
	case errors.Is(err, errUrgent):
		n, err := passUrgent(to, s.conn)
		return int64(n), err
	case err != nil:
		return 0, err
	}
	// The limit makes ReadFrom return when it has moved what there is. It would wait
	// for more with a pipe in its hands, else.
	s.rest = io.LimitedReader{R: s.conn, N: int64(ready)}
	return to.ReadFrom(&s.rest)
}

// wait gives the number of bytes that can be read at once, 1 or more. io.EOF says
// that the peer has ended its side, errUrgent that an urgent byte is next.
func (s *source) wait() (int, error) {
	s.ready, s.err = 0, nil
	if err := s.raw.Read(s.looks); err != nil {
		return 0, err
	}
	return s.ready, s.err
}

// look says whether there is something to wake up for.
func (s *source) look(fd uintptr) bool {
	n, _, err := unix.Recvfrom(int(fd), s.one[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
	switch {
	case errors.Is(err, unix.EAGAIN):
		return false
	case err != nil:
		s.err = err
	case n == 0:
		s.err = io.EOF
	default:
		// It counts up to an urgent byte, and the look has left that out.
		if s.ready, s.err = unix.IoctlGetInt(int(fd), unix.SIOCINQ); s.ready == 0 && s.err == nil {
			s.err = errUrgent
		}
	}
	return true
}
