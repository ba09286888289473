package http1

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"syscall"
)

var (
	errNoSocket = errors.New("connection is not backed by a socket")
	errNothing  = errors.New("nothing to read yet")
	errStale    = errors.New("kept connection was closed, or had bytes that nobody asked for")
)

// wire is one connection, to the caller or to an origin. One goroutine reads and one may write at
// the same time; only the owner closes it, so its descriptor is valid for as long as it is used.
type wire struct {
	conn net.Conn
	raw  syscall.RawConn
	fd   uintptr
	bufs *buffers

	buf  []byte // bytes read and not yet consumed are buf[r:w]; nil while nothing is
	r, w int
	want int // size of the next buffer

	in struct { // arguments and result of tryRead
		n     int
		errno syscall.Errno
	}
	out struct { // arguments and result of tryWrite
		a, b  []byte
		errno syscall.Errno
	}
	asked struct { // arguments and result of tryAsk
		reused, sent, stale bool
	}
	sent                       uint64      // bytes written in all
	broken                     atomic.Bool // by something else than the peer's regular end
	vec                        vector
	onRead, onWrite, onReadAsk func(fd uintptr) bool
}

func newWire(c net.Conn, bufs *buffers) (*wire, error) {
	sc, ok := c.(syscall.Conn)
	if !ok {
		return nil, fmt.Errorf("%T: %w", c, errNoSocket)
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return nil, err
	}
	w := &wire{conn: c, raw: raw, bufs: bufs, want: small}
	if err := raw.Control(func(fd uintptr) { w.fd = fd }); err != nil {
		return nil, err
	}
	w.onRead, w.onWrite, w.onReadAsk = w.tryRead, w.tryWrite, w.tryAsk
	return w, nil
}

// unread is what was read and not consumed.
func (w *wire) unread() []byte { return w.buf[w.r:w.w] }

// consume takes n bytes off the front of unread.
func (w *wire) consume(n int) {
	w.r += n
	if w.r == w.w {
		w.r, w.w = 0, 0
	}
}

// release gives the buffer back if nothing is in it.
func (w *wire) release() {
	if w.r == w.w {
		w.bufs.put(w.buf)
		w.buf, w.r, w.w = nil, 0, 0
	}
}

// detach leaves the buffer to the caller of it, and keeps a copy of what was not consumed. Whoever
// detaches must put the buffer back.
func (w *wire) detach() []byte {
	old, rest := w.buf, w.unread()
	w.buf, w.r, w.w = nil, 0, 0
	if len(rest) > 0 {
		w.buf = w.bufs.get(max(w.want, len(rest)+1))
		w.w = copy(w.buf, rest)
	}
	return old
}

// room makes space behind unread for at least one byte, in a buffer of at most limit bytes. False:
// unread has limit bytes or more.
func (w *wire) room(limit int) bool {
	switch n := w.w - w.r; {
	case w.buf == nil || w.w < len(w.buf):
	case n >= limit:
		return false
	case w.r > 0:
		w.w = copy(w.buf, w.unread())
		w.r = 0
	default:
		bigger := w.bufs.get(min(4*len(w.buf), limit))
		w.w = copy(bigger, w.unread())
		w.bufs.put(w.buf)
		w.buf, w.r = bigger, 0
	}
	return true
}

// shrink moves what is unread to a buffer that is no larger than it has to be, for a wait that may be
// long.
func (w *wire) shrink() {
	n := w.w - w.r
	if n >= tiny || len(w.buf) <= tiny {
		return
	}
	less := w.bufs.getTiny()
	copy(less, w.unread())
	w.bufs.put(w.buf)
	w.buf, w.r, w.w = less, 0, n
}

// enlarge makes the next read as large as a body deserves, if nothing is unread.
func (w *wire) enlarge() {
	w.want = large
	if len(w.buf) < large {
		w.release()
	}
}

// fill waits for bytes and adds them to unread; io.EOF when the peer sends no more. While it waits
// with nothing unread it holds no buffer.
func (w *wire) fill() error {
	if err := w.raw.Read(w.onRead); err != nil {
		return err
	}
	return w.filled()
}

// fillNow is fill that returns errNothing where fill would wait.
func (w *wire) fillNow() error {
	if !w.tryRead(w.fd) {
		return errNothing
	}
	return w.filled()
}

func (w *wire) filled() error {
	switch {
	case w.in.errno != 0:
		return w.in.errno
	case w.in.n == 0:
		return io.EOF
	}
	w.w += w.in.n
	return nil
}

func (w *wire) tryRead(fd uintptr) bool {
	if w.buf == nil {
		w.buf = w.bufs.get(w.want)
	}
	w.in.n, w.in.errno = recv(fd, w.buf[w.w:], 0)
	if w.in.errno == syscall.EAGAIN {
		w.release()
		return false
	}
	w.notice(w.in.errno)
	return true
}

// write sends all of a, then all of b.
func (w *wire) write(a, b []byte) error {
	w.out.a, w.out.b, w.out.errno = a, b, 0
	// Most writes fit into the socket's buffer: no need to go through the poller's locks.
	if !w.tryWrite(w.fd) {
		if err := w.raw.Write(w.onWrite); err != nil {
			return err
		}
	}
	if w.out.errno != 0 {
		return w.out.errno
	}
	return nil
}

// writeNow sends what the socket takes at once and says how many bytes that was; false if the
// connection is broken.
func (w *wire) writeNow(a []byte) (int, bool) {
	n, errno := send(w.fd, a)
	if errno == syscall.EAGAIN {
		return 0, true
	}
	if errno != 0 {
		w.notice(errno)
		return 0, false
	}
	w.sent += uint64(n)
	return n, true
}

func (w *wire) tryWrite(fd uintptr) bool {
	o := &w.out
	for len(o.a)+len(o.b) > 0 {
		var n int
		switch {
		case len(o.b) == 0:
			n, o.errno = send(fd, o.a)
		case len(o.a) == 0:
			n, o.errno = send(fd, o.b)
		default:
			n, o.errno = sendTwo(fd, &w.vec, o.a, o.b)
		}
		if o.errno == syscall.EAGAIN {
			o.errno = 0
			return false
		}
		if o.errno != 0 {
			w.notice(o.errno)
			break
		}
		w.sent += uint64(n)
		k := min(n, len(o.a))
		o.a, o.b = o.a[k:], o.b[n-k:]
	}
	return true
}

// ask sends a and b, then waits for the first bytes of the answer. On a reused connection it looks
// first whether it is still good, and says errStale without having sent anything if not. All of
// this is one wait of the poller: the look takes the place of the read that would find nothing.
func (w *wire) ask(a, b []byte, reused bool) error {
	w.out.a, w.out.b, w.out.errno = a, b, 0
	w.asked.reused, w.asked.sent, w.asked.stale = reused, false, false
	if err := w.raw.Read(w.onReadAsk); err != nil {
		return err
	}
	switch {
	case w.asked.stale:
		return errStale
	case w.out.errno != 0:
		return w.out.errno
	case !w.asked.sent: // more than the socket's buffer takes
		if err := w.write(w.out.a, w.out.b); err != nil {
			return err
		}
		return w.fill()
	}
	return w.filled()
}

func (w *wire) tryAsk(fd uintptr) bool {
	q := &w.asked
	if q.sent {
		return w.tryRead(fd)
	}
	if q.reused && !w.quiet() {
		q.stale = true
		return true
	}
	if q.sent = w.tryWrite(fd); !q.sent || w.out.errno != 0 {
		return true
	}
	// A fresh connection may have bytes from before: only a reused one was seen to be empty.
	return !q.reused && w.tryRead(fd)
}
