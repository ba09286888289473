package http1

import (
	"errors"
	"time"
)

// sending is one try at an origin.
type sending struct {
	origin *Origin
	wire   *wire
	reused bool          // wire has served others before
	idle   time.Duration // that wire had been since
	before uint64        // bytes written on wire before this try
	heard  bool          // something came back
}

// Send sends the request, with its edits, to o and relays the reply, both ways at once; interim
// replies, upgrades and trailers included. A CONNECT is passed on as to another proxy. It returns
// nil when the whole reply was passed on; else the error is an *Error.
func (x *Exchange) Send(o *Origin) error {
	if x.replied || x.broken || x.spent {
		return &Error{Op: "send", Addr: o.addr, Reason: NoReply, Err: errReplied}
	}
	fresh := false // a kept connection has failed: another may be no better
	for again, deaf := 0, 0; ; {
		if e := x.connect(o, fresh); e != nil {
			if again > 0 { // an earlier try may have reached the origin
				e.Retryable, e.Repeatable = false, true
			}
			return e
		}
		err := x.request()
		if err == nil {
			err = x.respond()
		}
		if err == nil {
			return nil
		}
		v, e := x.judge(err)
		x.to.wire.close()
		switch {
		case v == stale:
			o.ended(x.to.idle)
		case v == unheard && (x.to.reused || deaf < mostDeaf):
			if !x.to.reused {
				deaf++
			}
			fresh = true
		case v == repeatable && again < o.cfg.Retries:
			fresh = true
			again++
		default:
			return e
		}
	}
}

// mostDeaf is how many more connections are made where new ones are closed before a byte was taken, by an origin that waits
// less long than a busy machine takes to send the first.
const mostDeaf = 2

var errReplied = errors.New("the request was answered, or partly sent, already")

// connect takes a kept connection, or makes one.
func (x *Exchange) connect(o *Origin, fresh bool) *Error {
	x.to = sending{origin: o}
	x.asked, x.waited = time.Now(), 0
	if !fresh {
		x.to.wire, x.to.idle = o.take(x.asked)
		x.to.reused = x.to.wire != nil
	}
	if x.to.wire == nil {
		x.guard.within(0) // dial keeps its own time
		w, err := o.dial(&x.server.bufs)
		if err != nil {
			return err
		}
		x.to.wire, x.asked = w, time.Now()
	}
	x.to.wire.bufs = &x.server.bufs
	x.to.before = x.to.wire.sent
	x.guard.origin.Store(x.to.wire)
	return nil
}

// verdict is what a failed try means for the next one.
type verdict uint8

const (
	final      verdict = iota
	stale              // a kept connection turned out to be dead before anything was sent
	unheard            // the origin's kernel has refused every byte
	repeatable         // the origin may have acted, and may as well act again
)

// judge ends a failed try. It has to look at the connection before that is closed.
func (x *Exchange) judge(err error) (verdict, *Error) {
	t := &x.to
	x.stopUpload()
	x.guard.origin.Store(nil)
	fate := x.reply.fate
	x.reply.reset()
	if x.replied {
		x.broken = true
	}
	e := x.explain(err)
	if err == errStale {
		return stale, e
	}
	if x.replied || x.spent || e.Reason == CallerGone || e.Reason == ShuttingDown {
		return final, e
	}
	e.Repeatable = idempotent(x.Req.Method())
	switch {
	case fate == unsent:
		e.Retryable = true
	case e.Reason != OriginClosed || t.heard:
	case t.wire.unheard(t.before):
		e.Retryable = true
		return unheard, e
	case t.reused && e.Repeatable:
		return repeatable, e
	}
	return final, e
}

// explain makes an *Error of err, which is one already or came from the origin's connection.
func (x *Exchange) explain(err error) *Error {
	e := &Error{Op: "receive", Addr: x.to.origin.addr, Reason: OriginClosed, Err: err}
	if x.replied {
		e.Op = "relay"
	}
	var known *Error
	switch x.guard.why() {
	case left:
		e.Reason = CallerGone
	case closed:
		e.Reason = ShuttingDown
	case late:
		switch {
		case x.uploadErr != nil:
			return x.uploadErr
		case x.replied:
			e.Reason = IdleTimeout
		default:
			e.Reason = HeaderTimeout
		}
	default:
		if x.uploadErr != nil {
			return x.uploadErr
		}
		if errors.As(err, &known) {
			return known
		}
	}
	return e
}

// idempotent methods may be repeated without doing more than once (RFC 9110 section 9.2.2).
func idempotent(method []byte) bool {
	switch string(method) {
	case "GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE":
		return true
	}
	return false
}

// request sends the head with what has come of the body, and waits for the first bytes of the reply.
func (x *Exchange) request() error {
	w, cfg := x.to.wire, &x.to.origin.cfg
	out := x.server.bufs.get(len(x.Req.head.raw) + len(x.Req.head.own) + headroom)
	head, first := x.appendRequest(out[:0]), x.first
	if len(first) <= cap(head)-len(head) {
		head, first = append(head, first...), nil
	}
	var err error
	switch {
	case !x.body.done:
		err = x.requestLong(head, first)
	case !x.guard.within(cfg.Header):
		err = errCut
	default:
		err = w.ask(head, first, x.to.reused)
	}
	x.server.bufs.put(out)
	return err
}

var errCut = errors.New("ended by a time limit")

const headroom = 256 // what we add to a head beside its edits

// requestLong is request where the body has not come whole.
func (x *Exchange) requestLong(head, first []byte) error {
	w := x.to.wire
	switch {
	case !x.guard.within(x.to.origin.cfg.Idle):
		return errCut
	case x.to.reused && !w.quiet():
		return errStale
	}
	if err := w.write(head, first); err != nil {
		return err
	}
	x.wire.want = large
	x.pin()
	if err := x.uploadNow(); err != nil {
		return err
	}
	return w.fill()
}

// appendRequest appends the request's head as it goes to the origin.
func (x *Exchange) appendRequest(b []byte) []byte {
	r := &x.Req
	b = append(b, r.Method()...)
	b = append(b, ' ')
	switch {
	case r.form == authorityForm:
		b = append(b, r.authority...)
	case r.form == absoluteForm && x.onItsWay():
		b = append(b, r.head.raw[r.target.from:r.target.to]...)
	default:
		b = append(b, r.pathAndQuery()...)
	}
	b = append(b, " HTTP/1.1\r\n"...)
	if r.form != originForm {
		r.head.forProxy(x.onItsWay())
	}
	b = r.head.appendTo(b)
	if r.minor == 0 && r.head.find("host", 0) < 0 { // HTTP/1.1 needs one
		b = x.appendHost(b)
	}
	b = appendOptions(b, r.upgrade, r.trailers, r.odd)
	return append(b, "\r\n"...)
}

// onItsWay says that the origin is where the caller was going before it was redirected to us, or to
// the end of its tunnel. If the request is one for a proxy, the origin is that proxy: what was meant
// for it goes there.
func (x *Exchange) onItsWay() bool {
	if !x.Dst.IsValid() {
		return x.Via != nil
	}
	var scratch [maxAddrPort]byte
	return string(x.Dst.AppendTo(scratch[:0])) == x.to.origin.addr
}

// maxAddrPort is above the length of an IPv6 address with brackets, an interface and a port.
const maxAddrPort = 80

func (x *Exchange) appendHost(b []byte) []byte {
	switch {
	case x.Req.authority != nil:
		return appendLine(b, []byte("Host"), x.Req.authority)
	case x.Via != nil:
		return appendLine(b, []byte("Host"), x.Via)
	case x.Dst.IsValid():
		b = append(b, "Host: "...)
		b = x.Dst.AppendTo(b)
		return append(b, "\r\n"...)
	}
	return appendLine(b, "Host", x.to.origin.addr)
}

// appendOptions appends a Connection line, if there is anything to say.
func appendOptions(b []byte, upgrade, te, end bool) []byte {
	if !upgrade && !te && !end {
		return b
	}
	b = append(b, "Connection: "...)
	if upgrade {
		b = append(b, "Upgrade, "...)
	}
	if te {
		b = append(b, "TE, "...)
	}
	if end {
		b = append(b, "close, "...)
	}
	return append(b[:len(b)-len(", ")], "\r\n"...)
}
