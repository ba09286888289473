package main

import (
	"fmt"
	"log/slog"
	"net"
	"sync/atomic"
	"syscall"
	"time"
)

// files shares out the descriptors that this process may open, so that callers from
// outside take none that the app, probes and operators need. The kernel gives the
// lowest number that is free: one at a mark says that as many are in use.
type files struct {
	limit  int
	log    *slog.Logger
	logged atomic.Int64 // when it was logged last that there are too few, Unix nanoseconds
}

// newFiles takes the limit as it is: Go has raised the soft one to the hard one
// (package os).
func newFiles(log *slog.Logger) (*files, error) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return nil, fmt.Errorf("reading the limit of open files: %w", err)
	}
	const enough = 1 << 30 // it may be no limit at all
	return &files{limit: int(min(limit.Cur, enough)), log: log}, nil
}

// Callers from other pods and from outside may come up to the first mark, and be
// handed to the app up to the second. The app's calls have what is left but spare.
func (f *files) callers() int { return f.limit / 8 * 5 }
func (f *files) toApp() int   { return f.limit / 8 * 6 }
func (f *files) ofApp() int   { return f.limit - f.spare() }

// spare descriptors are for listeners, probes, operators, policy and name servers,
// and for callers who are told that there are too many.
func (f *files) spare() int { return f.limit / 16 }

// filesFor is the limit that so many connections from outside need, each with one to
// the app: both have to fit below the second mark, and what is above it is a third.
func filesFor(connections int) int { return 3 * connections }

// warnings says what to do where the limit is below what so many connections need;
// 0, whom nobody has asked for, need none.
func (f *files) warnings(connections int) []string {
	if f.limit >= filesFor(connections) {
		return nil
	}
	return []string{fmt.Sprintf("max-connections: got %d, which take up to %d open files, and the limit is %d: "+
		"raise that (ulimit -n, LimitNOFILE= of systemd, --ulimit nofile= of Docker), or ask for at most %d",
		connections, filesFor(connections), f.limit, f.limit/filesFor(1))}
}

// free reports whether the connection's descriptor is below the mark, and logs
// every few seconds that one is not.
func (f *files) free(conn net.Conn, mark int) bool {
	sc, ok := conn.(syscall.Conn)
	if !ok {
		return true
	}
	raw, err := sc.SyscallConn()
	if err != nil || below(raw, mark) {
		return true // a broken connection is for its server to notice
	}
	const every = 5 * time.Second // one line, not thousands, about a lasting shortage
	now := time.Now().UnixNano()
	if last := f.logged.Load(); now-last >= int64(every) && f.logged.CompareAndSwap(last, now) {
		f.log.Warn("connections closed, since the limit of open files (ulimit -n) is nearly reached", "limit", f.limit)
	}
	return false
}

// below reports whether the descriptor is below the mark.
func below(raw syscall.RawConn, mark int) bool {
	free := true
	_ = raw.Control(func(fd uintptr) { free = fd < uintptr(mark) }) // fails if it is closed, and is none then
	return free
}
