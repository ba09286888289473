package http1

import "errors"

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
	x.guard.within(0) // what a Handler waits for has limits of its own
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
		x.Req.head.raw = w.unread() // not where room has given it back
		err = w.fillNow()
		if err == errNothing { // a caller who holds a head back must not hold much memory with it
			w.shrink()
			x.Req.head.raw = w.unread()
			err = w.fill()
		}
		if err != nil {
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
