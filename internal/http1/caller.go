package http1

import (
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
	via    []byte // target of the tunnel that was opened
	fresh  bool   // what it speaks has to be seen
	last   bool   // the connection ends after the request at hand
	linger bool   // the caller may be sending still
}

func newCaller(s *Server, c net.Conn, dst netip.AddrPort) (*caller, error) {
	w, err := newWire(c, &s.bufs)
	if err != nil {
		return nil, err
	}
	k := &caller{server: s, wire: w, dst: dst, fresh: true}
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
			x.server.panics.Add(1)
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
