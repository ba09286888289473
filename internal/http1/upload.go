package http1

// eager is how much of a body is sent on without a goroutine of its own, as long as it is there.
const eager = 256 << 10

// uploadNow sends on what is there of the body without waiting for anybody; if that is not all, it
// leaves the rest to a goroutine.
func (x *Exchange) uploadNow() error {
	w, origin := x.wire, x.to.wire
	for sent := 0; sent < eager && !x.body.done; {
		w.room(large)
		err := w.fillNow()
		if err == errNothing {
			break
		}
		if err != nil {
			return &Error{Op: "read", Reason: CallerGone, Err: err}
		}
		if err := x.takeBody(); err != nil {
			return err
		}
		n, ok := origin.writeNow(w.unread()[:x.pending])
		if !ok {
			return nil // the origin may have replied before it closed
		}
		w.consume(n)
		x.pending -= n
		if sent += n; x.pending > 0 {
			break
		}
	}
	if x.bodyConsumed() {
		if !x.guard.within(x.to.origin.cfg.Header) {
			return errCut
		}
		return nil
	}
	x.uploading = true
	go x.startUpload()
	return nil
}

// takeBody takes what can be sent on of wire.unread.
func (x *Exchange) takeBody() *Error {
	x.spent = true
	n, err := x.body.take(x.wire.unread())
	x.pending = n
	if err != nil {
		return bodyError(err)
	}
	return nil
}

// upload sends on the rest of the body as it comes. Meanwhile the reply is relayed.
func (x *Exchange) upload() {
	if x.uploadErr = x.uploadRest(); x.uploadErr != nil {
		x.to.wire.wake() // there is no sense in waiting for a reply to half a request
	}
	x.uploaded <- struct{}{}
}

// uploadRest returns faults of the caller. Those of the origin show in what it replies.
func (x *Exchange) uploadRest() *Error {
	w, origin := x.wire, x.to.wire
	for {
		if x.pending > 0 {
			if origin.write(w.unread()[:x.pending], nil) != nil {
				return x.tooLate(IdleTimeout)
			}
			w.consume(x.pending)
			x.pending = 0
			x.guard.touch()
		}
		if x.body.done {
			x.uploadEnded()
			return nil
		}
		w.room(large)
		if err := w.fill(); err != nil {
			if e := x.tooLate(CallerTimeout); e != nil || x.halted.Load() {
				return e
			}
			return &Error{Op: "read", Reason: CallerGone, Err: err}
		}
		if err := x.takeBody(); err != nil {
			return err
		}
	}
}

// tooLate is an error of that reason if a time limit has ended the upload.
func (x *Exchange) tooLate(reason string) *Error {
	if x.guard.why() != late {
		return nil
	}
	return &Error{Op: "send", Addr: x.to.origin.addr, Reason: reason, Err: errCut}
}

// uploadEnded gives the origin the time that it has to begin its reply, if it has not done so.
func (x *Exchange) uploadEnded() {
	if !x.began.Load() {
		x.guard.within(x.to.origin.cfg.Header)
	}
	if x.began.Load() {
		x.guard.within(x.to.origin.cfg.Idle)
	}
}

// uploadDone says that no goroutine is sending any more.
func (x *Exchange) uploadDone() bool {
	if x.uploading {
		select {
		case <-x.uploaded:
			x.uploading = false
		default:
		}
	}
	return !x.uploading
}

// waitUpload waits until the upload has ended by itself.
func (x *Exchange) waitUpload() {
	if x.uploading {
		<-x.uploaded
		x.uploading = false
	}
}

// stopUpload ends an upload in the middle. Both connections are of no use after that but for a last
// word to the caller.
func (x *Exchange) stopUpload() {
	if x.uploadDone() {
		return
	}
	x.halted.Store(true)
	x.wire.wake()
	x.to.wire.wake()
	x.waitUpload()
	x.halted.Store(false)
	if x.guard.why() == uncut {
		x.wire.calm()
	}
}
