package http2

import (
	"errors"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"graylane/internal/http1"
)

// Exchange is one request and its reply. A Handler edits Req and then sends it on
// or replies. It is used by one goroutine, but for what its comments say.
type Exchange struct {
	Req  Request
	Peer netip.AddrPort // the caller
	Dst  netip.AddrPort // where it was going (original destination), zero if not known
	Via  []byte         // target of the CONNECT in whose tunnel it came, nil if it came in none

	w       http.ResponseWriter
	buffers *sync.Pool // of *[bufferSize]byte
	grpc    bool       // the caller expects statuses of gRPC
	start   time.Time
	edits   []edit // of the reply

	body    body
	limit   limit
	trace   httptrace.ClientTrace
	sent    atomic.Bool // the head of this try went out; set by the connection's goroutine
	interim interim
	waited  time.Duration

	side    side
	fate    string // what the reply tells the sidecar before us of the request
	leaving bool   // the origin's sidecar is
	status  int
	replied bool // a final reply has begun
	broken  bool // it cannot be ended as one that is whole
}

// edit is what SetReply, AddReply or DropReply say about a line.
type edit struct {
	name, value string
	do          func(h http.Header, name, value string)
}

// newExchange is for requests whose body has mostBody bytes or fewer, 0 for no limit.
func newExchange(w http.ResponseWriter, r *http.Request, at side, buffers *sync.Pool, mostBody int64) *Exchange {
	x := &Exchange{w: w, side: at, buffers: buffers, start: time.Now()}
	x.Req.read(r)
	x.grpc = isGRPC(r.Header.Get("Content-Type"))
	x.body = body{from: r.Body, most: mostBody, keep: true}
	if !x.grpc {
		x.body.moved = x.uploaded
	}
	x.limit.callersTurn = x.body.waiting
	x.trace.WroteHeaders = func() { x.sent.Store(true) }
	x.trace.Got1xxResponse = x.passInterim
	return x
}

// uploaded hears of every piece of the request's body.
func (x *Exchange) uploaded(end bool) {
	if end {
		x.limit.moved(waiting)
	} else {
		x.limit.moved(uploading)
	}
}

// Status is that of the reply that went to the caller, 0 if none did. That of a
// reply of gRPC is the HTTP status that says the same as its grpc-status, since the
// real one is always 200.
func (x *Exchange) Status() int { return x.status }

// Waited is the time from the request's being sent, by the last Send, to the head
// of its final reply; 0 if none came.
func (x *Exchange) Waited() time.Duration { return x.waited }

// Leaving says that the reply came from a sidecar that is about to end.
func (x *Exchange) Leaving() bool { return x.leaving }

// Gone is closed when the caller has left.
func (x *Exchange) Gone() <-chan struct{} { return x.Req.http.Context().Done() }

// SetReply puts one line on the reply to the caller, whoever makes it, in place of
// all of that name.
func (x *Exchange) SetReply(name, value string) {
	x.edits = append(x.edits, edit{name, plain(value), http.Header.Set})
}

// DropReply leaves all lines of that name off the reply to the caller, whoever makes
// it, until SetReply puts one there.
func (x *Exchange) DropReply(name string) {
	x.edits = append(x.edits, edit{name: name, do: func(h http.Header, name, _ string) { h.Del(name) }})
}

// AddReply puts one line on the reply to the caller, beside those of that name that
// it has.
func (x *Exchange) AddReply(name, value string) {
	x.edits = append(x.edits, edit{name, plain(value), http.Header.Add})
}

// edit does to the head of the reply what was said about it.
func (x *Exchange) edit(h http.Header) {
	for _, e := range x.edits {
		e.do(h, e.name, e.value)
	}
	if x.fate != "" {
		x.side.tell(h, x.fate)
	}
	if x.side.leaves(x) {
		x.side.tell(h, http1.Leaving)
	}
}

// finish ends the exchange towards the caller.
func (x *Exchange) finish() {
	x.interim.end()
	if !x.replied && !x.broken {
		x.Fail(&http1.Error{Op: "serve", Reason: http1.NoReply})
	}
	if x.broken {
		panic(http.ErrAbortHandler) // the one way to have net/http reset a stream
	}
}

// Fail replies what http1.Status makes of err, unless a reply has begun. A sidecar, as
// the caller, hears whether the request may be sent elsewhere.
func (x *Exchange) Fail(err error) {
	status, reason := http1.Status(err)
	if status == 0 {
		x.broken = true
		return
	}
	if e, ok := errors.AsType[*http1.Error](err); ok {
		x.fate = http1.Fate(e)
	}
	reset, ok := errors.AsType[streamError](err)
	if x.grpc && ok {
		x.replyGRPC(status, codeOfReset(reset.Code), reason, http1.Text(reason))
		return
	}
	x.Reply(status, reason, http1.Text(reason))
}
