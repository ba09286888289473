package http1

import (
	"io"
	"time"
)

const maxInterims = 32 // interim replies to one request; an origin that sends more has lost its way

// respond relays the reply, of which the first bytes have come.
func (x *Exchange) respond() error {
	for interims := 0; ; interims++ {
		n, err := x.scanReply()
		if err != nil {
			return err
		}
		p := &x.reply
		switch {
		case p.status == 101 && (!x.Req.upgrade || !x.uploadDone() || !x.body.done):
			return x.badReply(errSwitch)
		case p.status == 101, x.Req.Connect() && p.status/100 == 2:
			return x.switchProtocols(n)
		case p.fate != answered:
			return Unanswered(x.to.origin.addr, p.fate == unanswered)
		case !p.interim():
			return x.relay(n)
		case interims == maxInterims:
			return x.badReply(errInterim)
		}
		if err := x.relayInterim(); err != nil {
			return err
		}
		x.to.wire.consume(n)
		p.reset()
	}
}

// badReply is the error of a reply that is not passed on, or no further.
func (x *Exchange) badReply(err error) error {
	x.to.origin.complaints.BadReply(err)
	return &Error{Op: "receive", Addr: x.to.origin.addr, Reason: BadReply, Err: err}
}

func (x *Exchange) callerGone(err error) error {
	return &Error{Op: "relay", Addr: x.to.origin.addr, Reason: CallerGone, Err: err}
}

// scanReply reads the head of a reply and returns its length.
func (x *Exchange) scanReply() (int, error) {
	w, p := x.to.wire, &x.reply
	for {
		x.to.heard = x.to.heard || len(w.unread()) > 0
		n, err := p.scan(w.unread())
		if err == nil {
			err = x.checkReply(n)
		}
		switch {
		case err == nil:
			return n, nil
		case err != errMore:
			return 0, x.badReply(err)
		case !w.room(x.server.cfg.MaxHead):
			return 0, x.badReply(errReplyHead)
		}
		if err := w.fill(); err != nil {
			return 0, err
		}
	}
}

// checkReply reads what the scanned head, which is n bytes long, says, and has it read again.
func (x *Exchange) checkReply(n int) error {
	p := &x.reply
	p.head.raw = p.head.raw[:n]
	err := p.inspect(&x.Req)
	if !x.to.origin.cfg.Sidecar {
		p.fate, p.leaving = answered, false
	}
	if err != nil || !p.exact {
		return err
	}
	second := x.server.newParsers()
	err = second.agreeReply(p)
	x.server.parsers.Put(second)
	return err
}

// relayInterim passes a 100, 102 or 103 on, to callers that know them.
func (x *Exchange) relayInterim() error {
	x.continued = true
	if x.Req.minor == 0 {
		return nil
	}
	out := x.server.bufs.get(len(x.reply.head.raw) + headroom)
	b := append(x.reply.appendTo(out[:0]), "\r\n"...)
	err := x.wire.write(b, nil)
	x.server.bufs.put(out)
	if err != nil {
		return x.callerGone(err)
	}
	return nil
}

// relay passes the final reply on: its head, which is n bytes long, and its body.
func (x *Exchange) relay(n int) error {
	p, w := &x.reply, x.to.wire
	x.waited = time.Since(x.asked)
	x.decideKeep()
	x.received.start(p.framing, p.length, 0)
	first, err := x.received.take(w.unread()[n:])
	if err != nil {
		return x.badReply(err)
	}
	body := w.unread()[n : n+first]
	w.consume(n + first)
	x.began.Store(true)
	if !x.guard.within(x.to.origin.cfg.Idle) {
		return errCut
	}
	x.status, x.replied = p.status, true
	if err := x.writeReply(body); err != nil {
		return x.callerGone(err)
	}
	if err := x.relayRest(); err != nil {
		x.disrupt = p.framing == byClose || x.unchunk
		return err
	}
	x.settle(p.keepAlive)
	return nil
}

// decideKeep decides whether the caller's connection goes on after the reply, which the head of the
// reply says, and how the body is passed on.
func (x *Exchange) decideKeep() {
	p := &x.reply
	x.unchunk = p.framing == byChunks && x.Req.minor == 0
	x.keep = x.Req.keepAlive && p.framing != byClose && !x.unchunk && !x.Req.odd &&
		!x.caller.last && !x.server.closing() && x.wholeRequest()
	if !x.unchunk {
		return
	}
	for i := range p.head.fields {
		if k := p.head.fields[i].known; k == kTransferEncoding || k == kTrailer {
			p.head.fields[i].flags |= hop
		}
	}
}

// wholeRequest says that the body has been sent on, or will be although a reply has begun.
func (x *Exchange) wholeRequest() bool {
	if x.uploadDone() {
		return x.bodyConsumed()
	}
	// A caller that was not told to continue may send the body or not: nobody can know what follows.
	return x.reply.keepAlive && (!x.Req.expect || x.continued)
}

// writeReply writes the head of the reply and the body bytes that came with it.
func (x *Exchange) writeReply(body []byte) error {
	p := &x.reply
	for i := range x.setReply.fields {
		if f := &x.setReply.fields[i]; f.flags&beside == 0 {
			p.head.del(string(x.setReply.nameOf(f)))
		}
	}
	out := x.server.bufs.get(len(p.head.raw) + len(x.setReply.own) + headroom)
	b := p.appendTo(out[:0])
	b = x.setReply.appendTo(b)
	switch {
	case p.status == 426 && p.head.find("upgrade", 0) >= 0:
		b = appendOptions(b, true, false, !x.keep)
	default:
		b = x.appendConnection(b)
	}
	b = append(b, "\r\n"...)
	var err error
	switch {
	case x.unchunk:
		if err = x.wire.write(b, nil); err == nil {
			err = x.writeUnchunked(body)
		}
	case len(body) <= cap(b)-len(b):
		err = x.wire.write(append(b, body...), nil)
	default:
		err = x.wire.write(b, body)
	}
	x.server.bufs.put(out)
	return err
}

// appendTo appends the status line and the fields that go on.
func (p *reply) appendTo(b []byte) []byte {
	const version = len("HTTP/1.1")
	b = append(b, "HTTP/1.1"...)
	b = append(b, p.head.raw[version:p.reason.to]...)
	if p.reason.from == p.reason.to {
		b = append(b, ' ') // RFC 9112 section 4: even where no reason follows
	}
	b = append(b, "\r\n"...)
	return p.head.appendTo(b)
}

// relayRest passes the rest of the body on as it comes.
func (x *Exchange) relayRest() error {
	w, b := x.to.wire, &x.received
	for !b.done {
		w.enlarge()
		if !w.room(large) {
			return x.badReply(errLine)
		}
		if err := w.fill(); err != nil {
			if err == io.EOF && b.framing == byClose && x.guard.why() == uncut {
				return nil
			}
			return err
		}
		if !x.guard.touch() {
			return errCut
		}
		n, err := b.take(w.unread())
		if err != nil {
			return x.badReply(err)
		}
		if err := x.writeBody(w.unread()[:n]); err != nil {
			return x.callerGone(err)
		}
		w.consume(n)
	}
	return nil
}

func (x *Exchange) writeBody(p []byte) error {
	if x.unchunk {
		return x.writeUnchunked(p)
	}
	return x.wire.write(p, nil)
}

// writeUnchunked writes the data of p, which is valid chunked framing, for a caller that does not
// know that.
func (x *Exchange) writeUnchunked(p []byte) error {
	for len(p) > 0 {
		frame, data, err := x.bare.step(p)
		if err != nil {
			return err
		}
		if err := x.wire.write(p[frame:frame+data], nil); err != nil {
			return err
		}
		p = p[frame+data:]
	}
	return nil
}

// settle ends an exchange whose reply was passed on whole.
func (x *Exchange) settle(reusable bool) {
	t := &x.to
	if reusable && x.keep {
		x.waitUpload() // an early reply does not end the request
	} else {
		x.stopUpload()
	}
	x.guard.origin.Store(nil)
	reusable = reusable && x.wholeRequest() && !x.Req.odd && len(t.wire.unread()) == 0
	if x.guard.within(0) && reusable {
		keep := t.origin.cfg.Keep
		if x.reply.patience > 0 {
			keep = time.Duration(x.reply.patience) * time.Second * 8 / 10 // leave before the origin does
		}
		t.origin.put(t.wire, time.Now(), keep)
	} else {
		t.wire.close()
	}
	x.keep = x.keep && x.wholeRequest()
}
