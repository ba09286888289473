package http1

import (
	"net/netip"
	"sync/atomic"
	"time"
)

// Exchange is one request and its reply. A Handler edits Req and then sends it on or replies.
//
// Its buffers: the head of the request stays where it was read until Serve returns. Body bytes that
// came with it are sent from there, and stay for a second try. As soon as more of the caller's bytes
// have to be read, the wire gets a buffer of its own and the first one is pinned. The head of a
// reply lives in the buffer of the origin's wire until it is written.
type Exchange struct {
	Req  Request
	Peer netip.AddrPort // the caller
	Dst  netip.AddrPort // where it was going (original destination), zero if not known
	Via  []byte         // target of the CONNECT in whose tunnel it came, nil if it came in none

	server *Server
	caller *caller
	wire   *wire // the caller's
	guard  *guard

	body   body
	first  []byte // of the body, came with the head
	pinned []byte // buffer of the head, taken from wire
	spent  bool   // body bytes are gone that another try would need

	to        sending
	reply     reply
	received  body   // of the reply
	bare      chunks // reads it again where the caller gets it unchunked
	setReply  head   // lines of SetReply
	unchunk   bool   // the reply comes in chunks, and the caller does not know them
	continued bool   // an interim reply has come
	asked     time.Time
	waited    time.Duration

	status   int
	accepted bool // it is a CONNECT, and its caller has been told that there is a tunnel
	opened   bool // with HTTP in it
	replied  bool // a final reply has begun
	keep     bool // the caller's connection can serve another request
	fate     fate // what our own reply says of the request
	broken   bool // the reply, or the request, ended too early: nothing can follow
	disrupt  bool // and the caller could take the end for a regular one

	// A goroutine that uploads has the caller's reading side and the origin's writing side.
	uploading     bool
	halted        atomic.Bool // it is to end
	began         atomic.Bool // a final reply has begun
	pending       int         // bytes of wire.unread that were taken and have to be written
	uploadErr     *Error
	uploaded      chan struct{} // it has ended
	startUpload   func()        // x.upload, made once
	startUpstream func()        // x.upstream, made once
}

func (x *Exchange) begin(k *caller) {
	x.server, x.caller, x.wire, x.guard = k.server, k, k.wire, &k.guard
	x.Peer, x.Dst, x.Via = k.peer, k.dst, k.via
}

// end gives everything back.
func (x *Exchange) end() {
	s := x.server
	s.bufs.put(x.pinned)
	x.wire.want = small
	x.guard.origin.Store(nil)
	x.Req.reset()
	x.reply.reset()
	x.setReply.reset()
	x.server, x.caller, x.wire, x.guard = nil, nil, nil, nil
	x.first, x.pinned, x.body = nil, nil, body{}
	x.to, x.received, x.bare, x.unchunk, x.continued = sending{}, body{}, chunks{}, false, false
	x.status, x.replied, x.keep, x.broken, x.disrupt = 0, false, false, false, false
	x.accepted, x.opened, x.fate, x.Via = false, false, answered, nil
	x.pending, x.uploadErr, x.waited, x.spent = 0, nil, 0, false
	x.began.Store(false)
	s.exchanges.Put(x)
}

// Status is that of the reply that went to the caller, 0 if none did.
func (x *Exchange) Status() int { return x.status }

// Waited is the time from the request's being sent, by the last Send, to the head of its final
// reply; 0 if none came.
func (x *Exchange) Waited() time.Duration { return x.waited }

// Leaving says that the reply came from a sidecar that is about to end, as those of HTTP/1 say.
func (x *Exchange) Leaving() bool { return x.reply.leaving }

// Gone is closed when the caller has left, as far as that can be told, or is not waited for any more.
// Before Send, nothing else tells.
func (x *Exchange) Gone() <-chan struct{} { return x.guard.parting() }

// SetReply puts one line on the reply to the caller, whoever makes it, in place of all of that name.
// It is for fields of the message, not for those of the connection.
func (x *Exchange) SetReply(name, value string) { x.setReply.set(name, []byte(value)) }

// DropReply leaves all lines of that name off the reply to the caller, whoever makes it, until SetReply
// puts one there.
func (x *Exchange) DropReply(name string) {
	x.setReply.set(name, nil)
	x.setReply.fields[x.setReply.find(name, 0)].flags |= hop
}

// AddReply puts one line on the reply to the caller, beside those of that name that it has.
func (x *Exchange) AddReply(name, value string) { x.setReply.add(name, []byte(value)) }

// pin keeps the head where it is while more is read from the caller.
func (x *Exchange) pin() {
	if x.pinned == nil {
		x.pinned = x.wire.detach()
	}
}

// bodyConsumed says that what comes next from the caller is another request. No upload may be running.
func (x *Exchange) bodyConsumed() bool { return x.body.done && x.pending == 0 }

// finish ends the exchange towards the caller; false: the connection has to end.
func (x *Exchange) finish() bool {
	if !x.replied && !x.broken {
		x.Fail(&Error{Op: "serve", Reason: NoReply})
	}
	switch {
	case x.disrupt:
		x.wire.abort()
	case x.broken:
	case !x.keep:
		x.caller.linger = !x.bodyConsumed() || len(x.wire.unread()) > 0 || x.wire.fillNow() == nil
	default:
		return true
	}
	return false
}
