package http2

import (
	"errors"
	"io"
	"sync"
	"time"

	"graylane/internal/http1"
)

// keeping is how much of a request's body is kept for another try: more than nearly
// all unary calls of gRPC have.
const keeping = 16 << 10

// body is a request's body, which is read once and may be sent more than once as
// long as all of it that was read is kept.
type body struct {
	from  io.ReadCloser // the caller's
	most  int64         // bytes that are allowed, 0: no limit
	moved func(end bool)

	mu      sync.Mutex
	read    int64
	kept    []byte // what was read
	keep    bool   // what is read will be
	lost    bool   // something was read that is not
	reading bool   // from is being waited for
	err     error  // of from
}

// again tells whether another try would send the whole body.
func (b *body) again() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.lost
}

// settle ends the keeping: a reply has begun, and there will be no other try.
func (b *body) settle() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.keep = false
}

// waiting tells whether it is the caller's turn.
func (b *body) waiting() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.reading
}

// ended tells whether all of the body was read, or all that there will be.
func (b *body) ended() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err != nil
}

// failed is what ended the body before its end, nil if nothing did.
func (b *body) failed() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if errors.Is(b.err, io.EOF) || errors.Is(b.err, errTryOver) {
		return nil
	}
	return b.err
}

// try is one reader of a body, from its start.
type try struct {
	*body
	at     int // in kept
	closed bool
	hurry  *time.Timer // nil: there is none
}

// Read gives what is kept, and then what comes.
func (t *try) Read(p []byte) (int, error) {
	n, err := t.old(p)
	if n > 0 || err != nil {
		return n, err
	}
	n, err = t.from.Read(p)
	return n, t.took(p[:n], err)
}

// old gives what is kept. If it gives nothing, from is being read.
func (t *try) old(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.closed:
		return 0, errTryOver
	case t.at < len(t.kept):
		n := copy(p, t.kept[t.at:])
		t.at += n
		return n, nil
	case t.err != nil:
		return 0, t.err
	}
	t.reading = true
	return 0, nil
}

// took notes what has come.
func (t *try) took(p []byte, err error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.reading = false
	if t.hurry != nil {
		t.hurry.Stop()
	}
	t.read += int64(len(p))
	switch {
	case err != nil && t.lost && !errors.Is(err, io.EOF):
		err = errTryOver // since we have closed it
	case t.most > 0 && t.read > t.most:
		err = &http1.Error{Op: "relay", Reason: http1.BodyTooLarge}
	}
	t.err = err
	if t.keep && len(t.kept)+len(p) <= keeping {
		t.kept = append(t.kept, p...)
		t.at = len(t.kept)
	} else if len(p) > 0 {
		t.keep, t.lost = false, true
	}
	if t.moved != nil {
		t.moved(err != nil)
	}
	return err
}

// Close ends the try. If the caller's body is being waited for, nothing but closing
// it ends that, and then there is no other try. So what is on its way gets a moment,
// unless there will be none anyway.
func (t *try) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	switch {
	case !t.reading:
	case t.keep:
		t.hurry = time.AfterFunc(moment, t.give)
	default:
		t.lost = true
		return t.from.Close()
	}
	return nil
}

// give closes the caller's body if the moment was too short.
func (t *try) give() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.reading {
		t.lost = true
		_ = t.from.Close() // it says what Read says
	}
}

// moment is what the body of a unary call takes that comes right behind its head.
const moment = 100 * time.Millisecond

var errTryOver = errors.New("the request is not sent any more")
