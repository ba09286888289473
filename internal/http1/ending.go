package http1

import (
	"syscall"
	"time"
)

// notice remembers that an operation failed for another reason than that the peer has ended the
// connection. The kernel says so once, to whoever asks first.
func (w *wire) notice(errno syscall.Errno) {
	if errno != 0 && errno != syscall.EPIPE {
		w.broken.Store(true)
	}
}

// quiet says that the connection is open and has nothing to read.
func (w *wire) quiet() bool {
	var b [1]byte
	_, errno := recv(w.fd, b[:], syscall.MSG_PEEK)
	return errno == syscall.EAGAIN
}

// unheard says for certain that the peer's kernel had taken none of the bytes written since sent was
// before when the peer closed the connection: nobody can have acted on them. The end of a connection
// brings with it how much was taken until then. A reset does not, and kernels delay what they would
// have said of bytes that were read long since: after one nothing is certain.
func (w *wire) unheard(before uint64) bool {
	if w.broken.Load() {
		return false
	}
	n, ok := acknowledged(w.fd)
	const syn = 1 // the handshake counts as a byte
	return ok && n <= before+syn
}

// closeWrite tells the peer that no more bytes follow.
func (w *wire) closeWrite() {
	if c, ok := w.conn.(interface{ CloseWrite() error }); ok {
		_ = c.CloseWrite() // fails only if the connection is broken, which the next read says
	}
}

// close ends the connection; what the peer did not read yet is still delivered.
func (w *wire) close() {
	_ = w.conn.Close()
	w.r, w.w = 0, 0
	w.release()
}

// abort ends the connection so that the peer cannot take it for a regular end.
func (w *wire) abort() {
	if c, ok := w.conn.(interface{ SetLinger(sec int) error }); ok {
		_ = c.SetLinger(0)
	}
	w.close()
}

// wake makes every wait on the connection fail with os.ErrDeadlineExceeded until calm.
func (w *wire) wake() { _ = w.conn.SetDeadline(time.Unix(1, 0)) }

func (w *wire) calm() { _ = w.conn.SetDeadline(time.Time{}) }
