package http1

import (
	"bytes"
	"context"
	"errors"
	"net"
	"time"
)

// Look tells whether the caller of a tunnel to target speaks HTTP in it, and takes no byte: first
// was read already, the rest stays where it is. origin is the other end; while it is nil nobody is
// connected to, and a caller that stays silent counts as one who speaks something else.
type Look func(caller net.Conn, first, target []byte, origin net.Conn) (http bool, err error)

// Accept answers a CONNECT before there is an origin, to look into its tunnel: a request in it may
// be for another origin than what else could be there. Tunnel comes next, unless Opened. Accept does
// nothing where the tunnel is not one to look into. After a failed one only the end is left.
func (x *Exchange) Accept() error {
	if !x.looks() {
		return nil
	}
	if err := x.accept(); err != nil {
		return err
	}
	return x.look(nil)
}

// Opened says that the tunnel of a CONNECT holds HTTP. Its requests are exchanges of their own, as
// if they had come outside, with its target as their Via. Nothing is left to do for this one.
func (x *Exchange) Opened() bool { return x.opened }

// looks says that this is a CONNECT to us as a proxy. A tunnel in a tunnel is for another one.
func (x *Exchange) looks() bool {
	return x.server.cfg.Look != nil && x.Req.Connect() && x.Via == nil && !x.Dst.IsValid()
}

// accept replies 200, once. What comes of the tunnel is all that the caller can still be told.
func (x *Exchange) accept() error {
	if x.accepted {
		return nil
	}
	x.status, x.replied, x.accepted = 200, true, true
	x.disrupt = true // unless something comes of it
	out := x.server.bufs.get(small)
	b := x.setReply.appendTo(x.appendStatus(out[:0], 200))
	err := x.wire.write(append(b, "\r\n"...), nil)
	x.server.bufs.put(out)
	if err != nil {
		return x.tunnelError(CallerGone, err)
	}
	return nil
}

// look finds out whether the tunnel holds HTTP; then the connection goes on with that.
func (x *Exchange) look(origin net.Conn) error {
	x.pin()
	x.guard.tunnel.Store(true)
	defer x.guard.tunnel.Store(false)
	x.guard.within(0)
	target := x.Req.Authority()
	http, err := x.server.cfg.Look(x.wire.conn, x.wire.unread(), target, origin)
	switch {
	case x.guard.why() != uncut, errors.Is(err, context.Canceled): // by now: the look undoes a wake
		return x.tunnelError(ShuttingDown, errCut)
	case err != nil && origin != nil && departed(x.wire.fd) == present:
		return x.tunnelError(OriginClosed, err)
	case err != nil:
		return x.tunnelError(CallerGone, err)
	case http:
		x.opened, x.keep, x.disrupt = true, true, false
		x.caller.via, x.caller.fresh = bytes.Clone(target), true
	}
	return nil
}

// open gives back the connection to an origin on which nothing was said.
func (x *Exchange) open(o *Origin) {
	x.guard.origin.Store(nil)
	o.put(x.to.wire, time.Now(), o.cfg.Keep)
}

func (x *Exchange) tunnelError(reason string, err error) *Error {
	return &Error{Op: "tunnel", Addr: string(x.Req.Authority()), Reason: reason, Err: err}
}
