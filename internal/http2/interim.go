package http2

import (
	"errors"
	"maps"
	"net/http"
	"net/textproto"
	"sync"
)

// mostInterim bounds what an origin may say before it replies.
const mostInterim = 32

// interim passes interim replies on. They come on the goroutine that reads the
// connection to the origin for all its streams, which must not wait for a caller.
type interim struct {
	mu      sync.Mutex
	heads   []interimHead
	count   int
	over    bool
	running bool
	writer  sync.WaitGroup
}

type interimHead struct {
	status int
	header http.Header
}

// passInterim takes an interim reply from the origin. 100 is not passed on: who
// expects it got it from us with the first byte of the body.
func (x *Exchange) passInterim(status int, header textproto.MIMEHeader) error {
	if status == http.StatusContinue {
		return nil
	}
	n := &x.interim
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.count++; n.count > mostInterim {
		return errInterim
	}
	if n.over {
		return nil
	}
	n.heads = append(n.heads, interimHead{status, http.Header(header)})
	if !n.running {
		n.running = true
		n.writer.Go(x.writeInterim)
	}
	return nil
}

var errInterim = errors.New("too many interim replies")

func (x *Exchange) writeInterim() {
	for {
		head, ok := x.interim.next()
		if !ok {
			return
		}
		h := x.w.Header()
		maps.Copy(h, head.header)
		dropHopFields(h)
		x.w.WriteHeader(head.status)
		clear(h)
	}
}

func (n *interim) next() (head interimHead, ok bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.running = len(n.heads) > 0; !n.running {
		return head, false
	}
	head, n.heads = n.heads[0], n.heads[1:]
	return head, true
}

// end waits until what has come is passed on; nothing is after that.
func (n *interim) end() {
	n.mu.Lock()
	n.over = true
	n.mu.Unlock()
	n.writer.Wait()
}
