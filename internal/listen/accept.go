package listen

import (
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"
)

const (
	firstPause = 5 * time.Millisecond // a descriptor is mostly free again by then
	longPause  = time.Second          // after many failures in a row
	logEvery   = 5 * time.Second      // one line, not thousands, about a lasting shortage
)

func (s *Set) accept(l listener, serve Serve) error {
	defer l.Close()
	shortage := shortage{set: s, addr: l.Addr().String()}
	for {
		conn, err := l.Accept()
		switch {
		case err == nil:
			shortage.pause = 0
			s.open.Add(1)
			go s.handle(conn, serve)
		case s.stopping():
			return nil
		case deaf(err):
			return fmt.Errorf("accepting on %s: %w", l.Addr(), err)
		default:
			shortage.wait(err)
		}
	}
}

func (s *Set) stopping() bool {
	select {
	case <-s.stop:
		return true
	default:
		return false
	}
}

// deaf tells the errors that no waiting heals. Everything else that accept(2)
// gives is a shortage (EMFILE, ENFILE, ENOBUFS, ENOMEM) or the fault of one
// connection.
func deaf(err error) bool {
	return errors.Is(err, net.ErrClosed) ||
		errors.Is(err, syscall.EBADF) ||
		errors.Is(err, syscall.EINVAL) ||
		errors.Is(err, syscall.ENOTSOCK)
}

// shortage paces one accept loop while accepting fails.
type shortage struct {
	set    *Set
	addr   string
	pause  time.Duration // the last one; 0 after a success
	logged time.Time
	failed int // since the last log line
}

// wait pauses, twice as long each time in a row, or until the Set is stopped.
func (s *shortage) wait(err error) {
	s.failed++
	if now := time.Now(); now.Sub(s.logged) >= logEvery {
		s.set.log().Warn("cannot accept connections, trying on", "address", s.addr, "error", err, "failures", s.failed)
		s.logged, s.failed = now, 0
	}
	s.pause = min(max(2*s.pause, firstPause), longPause)
	select {
	case <-time.After(s.pause):
	case <-s.set.stop:
	}
}
