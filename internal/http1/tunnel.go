package http1

import (
	"errors"
	"io"
)

var errNotConnect = errors.New("not a CONNECT")

// Tunnel answers a CONNECT: it connects to o, replies 200 and moves bytes both ways until both
// directions have ended; or it finds HTTP there, as Opened then says.
func (x *Exchange) Tunnel(o *Origin) error {
	if !x.Req.Connect() || x.replied && !x.accepted || x.broken {
		return &Error{Op: "tunnel", Addr: o.addr, Reason: WrongMethod, Err: errNotConnect}
	}
	if e := x.connect(o, true); e != nil {
		return e
	}
	err := x.accept()
	if err == nil && x.looks() {
		err = x.look(x.to.wire.conn)
	}
	if x.opened {
		x.open(o)
		return nil
	}
	if err == nil {
		err = x.tunnel()
	}
	x.to.wire.close()
	return err
}

// switchProtocols passes on the reply that ends HTTP on both connections, whose head is n bytes
// long, and then what both sides say.
func (x *Exchange) switchProtocols(n int) error {
	p, w := &x.reply, x.to.wire
	for i := range p.head.fields { // RFC 9110 section 9.3.6: a tunnel has no length
		if k := p.head.fields[i].known; k == kContentLength || k == kTransferEncoding {
			p.head.fields[i].flags |= hop
		}
	}
	x.status, x.replied = p.status, true
	out := x.server.bufs.get(len(p.head.raw) + headroom)
	b := p.appendTo(out[:0])
	b = x.setReply.appendTo(b)
	b = appendOptions(b, p.status == 101, false, false)
	err := x.wire.write(append(b, "\r\n"...), nil)
	x.server.bufs.put(out)
	w.consume(n)
	if err != nil {
		return x.callerGone(err)
	}
	if err := x.tunnel(); err != nil {
		return err
	}
	w.close()
	return nil
}

// tunnel moves bytes both ways until both directions have ended. A side that sends no more can
// still receive.
func (x *Exchange) tunnel() error {
	x.pin()
	x.keep, x.broken, x.disrupt = false, true, false // nothing of HTTP follows
	x.guard.tunnel.Store(true)
	defer x.guard.tunnel.Store(false)
	x.guard.within(0)
	go x.startUpstream()
	err := x.pour(x.wire, x.to.wire)
	<-x.uploaded
	x.guard.origin.Store(nil)
	if err == nil && x.uploadErr != nil {
		err = x.uploadErr
	}
	if err != nil {
		x.disrupt = true
		x.to.wire.abort()
	}
	return err
}

// upstream is the caller's direction of a tunnel.
func (x *Exchange) upstream() {
	if err := x.pour(x.to.wire, x.wire); err != nil {
		x.uploadErr = x.explain(err)
	}
	x.uploaded <- struct{}{}
}

// pour moves what src says to dst until src sends no more. When one direction fails, so does the other.
func (x *Exchange) pour(dst, src *wire) error {
	for {
		b := src.unread()
		if len(b) == len(src.buf) {
			src.want = large // it comes faster than a small buffer takes it
		}
		if err := dst.write(b, nil); err != nil {
			return x.collapse(err)
		}
		src.consume(len(b))
		x.guard.touch()
		if len(src.buf) < src.want {
			src.release()
		}
		err := src.fill()
		if errors.Is(err, io.EOF) {
			dst.closeWrite()
			x.guard.within(x.to.origin.cfg.Idle) // the other direction alone is not kept for ever
			return nil
		}
		if err != nil {
			return x.collapse(err)
		}
	}
}

// collapse ends the other direction of a tunnel too.
func (x *Exchange) collapse(err error) error {
	x.wire.wake()
	x.to.wire.wake()
	return err
}
