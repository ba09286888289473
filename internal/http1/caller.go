package http1

import (
	"errors"
	"net"
	"net/netip"
	"runtime/debug"
	"time"
)

// caller is one connection of a caller. While it is idle it holds no buffer and no Exchange.
type caller struct {
	server *Server
	wire   *wire
	guard  guard
	peer   netip.AddrPort
	dst    netip.AddrPort
	last   bool // the connection ends after the request at hand
	linger bool // the caller may be sending still
}

func newCaller(s *Server, c net.Conn, dst netip.AddrPort) (*caller, error) {
	w, err := newWire(c, &s.bufs)
	if err != nil {
		return nil, err
	}
	k := &caller{server: s, wire: w, dst: dst}
	k.guard.watch, k.guard.caller = &s.watch, w
	if a, ok := c.RemoteAddr().(*net.TCPAddr); ok {
		ap := a.AddrPort()
		k.peer = netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port())
	}
	if p, ok := c.(interface{ Prefix() []byte }); ok {
		if b := p.Prefix(); len(b) > 0 {
			w.buf = s.bufs.get(len(b) + 1)
			w.w = copy(w.buf, b)
		}
	}
	return k, nil
}

// await waits for the first byte of a request; false: there will be none.
func (k *caller) await() bool {
	if k.last {
		return false
	}
	if len(k.wire.unread()) > 0 {
		return true
	}
	if !k.guard.idle(k.server.cfg.KeepAlive) {
		return false
	}
	if k.server.closing() { // looked at after idle: Drain sees every idle connection, or is seen here
		k.guard.retire()
	}
	if k.wire.fill() == nil {
		return true
	}
	if why := k.guard.why(); why != late && why != retired {
		return false
	}
	k.guard.resume()
	// A request may have been on its way all the same.
	k.last = true
	return k.wire.fillNow() == nil
}

// serve answers one request; false: the connection has to end.
func (k *caller) serve() bool {
	s := k.server
	s.active.Add(1)
	k.guard.exchanges.Add(1)
	x := s.newExchange()
	x.begin(k)
	keep := x.run()
	k.guard.exchanges.Add(1)
	s.active.Add(-1)
	return keep
}

// run is serve for one Exchange, which it gives back.
func (x *Exchange) run() bool {
	defer func() {
		if p := recover(); p != nil {
			x.stopUpload()
			if o := x.guard.origin.Swap(nil); o != nil {
				o.close()
			}
			x.server.cfg.Log.Error("request handler panicked", "panic", p, "stack", string(debug.Stack()))
			x.caller.last, x.broken = true, true
		}
	}()
	if err := x.readHead(); err != nil {
		x.refuse(err)
	} else {
		x.server.handler.Serve(x)
	}
	keep := x.finish()
	x.end()
	return keep
}

// refuse answers a connection before anything was read from it.
func (k *caller) refuse(err error) {
	x := k.server.newExchange()
	x.begin(k)
	x.refuse(err)
	x.finish()
	x.end()
}

var errSilent = errors.New("connection ended before a whole head had come")

const maxEmptyLines = 4 // before a request line; RFC 9112 section 2.2 asks for one

// readHead reads the head of the request, and what has come of the body with it.
func (x *Exchange) readHead() error {
	if !x.guard.within(x.server.cfg.HeadTimeout) {
		// Cut as an idle connection in the moment in which this request began.
		x.guard.resume()
		x.caller.last = true
		if !x.guard.within(x.server.cfg.HeadTimeout) {
			return errSilent
		}
	}
	n, err := x.scanHead()
	if err != nil {
		return err
	}
	x.Req.head.raw = x.Req.head.raw[:n]
	if err := x.Req.inspect(x.server.cfg.Keep); err != nil {
		return badRequest(err)
	}
	if x.Req.exact {
		p := x.server.newParsers()
		err := p.agree(&x.Req)
		x.server.parsers.Put(p)
		if err != nil {
			return badRequest(err)
		}
	}
	x.wire.consume(n)
	return x.firstOfBody()
}

func (x *Exchange) scanHead() (int, error) {
	w, limit := x.wire, x.server.cfg.MaxHead
	for empty := 0; ; {
		if n, err := emptyLine(w.unread()); err != nil {
			return 0, badRequest(err)
		} else if n > 0 {
			if empty++; empty > maxEmptyLines {
				return 0, badRequest(errRequestLine)
			}
			w.consume(n)
			continue
		}
		n, err := x.Req.scan(w.unread())
		switch {
		case err == errVersion:
			return 0, &Error{Op: "read", Reason: BadVersion, Err: err}
		case err == errFields || n > limit:
			return 0, &Error{Op: "read", Reason: HeadTooLarge, Err: err}
		case err != nil && err != errMore:
			return 0, badRequest(err)
		case err == nil:
			return n, nil
		case !w.room(limit):
			return 0, &Error{Op: "read", Reason: HeadTooLarge, Err: err}
		}
		if err := w.fill(); err != nil {
			if x.guard.why() == late {
				return 0, &Error{Op: "read", Reason: CallerTimeout, Err: err}
			}
			return 0, errSilent
		}
	}
}

// emptyLine is the length of the empty line at the front of b.
func emptyLine(b []byte) (int, error) {
	switch {
	case len(b) > 0 && b[0] == '\n':
		return 0, errBareLF
	case len(b) > 1 && b[0] == '\r' && b[1] == '\n':
		return 2, nil
	}
	return 0, nil
}

func badRequest(err error) *Error { return &Error{Op: "read", Reason: BadRequest, Err: err} }

// firstOfBody takes what has come of the body.
func (x *Exchange) firstOfBody() error {
	limit := x.server.cfg.MaxBody
	x.body.start(x.Req.framing, x.Req.length, limit)
	if limit > 0 && x.Req.length > limit {
		return &Error{Op: "read", Reason: BodyTooLarge, Err: errTooMuch}
	}
	n, err := x.body.take(x.wire.unread())
	if err != nil {
		return bodyError(err)
	}
	x.first = x.wire.unread()[:n]
	x.wire.consume(n)
	return nil
}

func bodyError(err error) *Error {
	if err == errTooMuch {
		return &Error{Op: "read", Reason: BodyTooLarge, Err: err}
	}
	return badRequest(err)
}

// refuse answers what no Handler gets to see.
func (x *Exchange) refuse(err error) {
	x.caller.last = true
	if err == errSilent {
		x.broken = true
		return
	}
	x.Fail(err)
	if f := x.server.cfg.Refused; f != nil {
		f(Status(err))
	}
}

// lingering is how long a caller that is still sending has to read the reply.
const lingering = 3 * time.Second

// part ends the connection so that the caller can read the reply: an end with bytes unread, or more
// of them coming, would make its kernel throw the reply away.
func (k *caller) part() {
	w := k.wire
	k.guard.resume()
	w.closeWrite()
	k.guard.within(lingering)
	for {
		w.consume(len(w.unread()))
		if w.fill() != nil {
			return
		}
	}
}
