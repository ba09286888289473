package http2

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"graylane/internal/http1"
)

// limit ends a request that takes too long. A call of gRPC says itself how long it
// may take, and if it does not, it may last: a stream of events is silent for
// hours. Others get the limits of the origin, as with HTTP/1.
type limit struct {
	cancel       context.CancelCauseFunc // nil: there is no limit
	timer        *time.Timer
	total        bool          // whatever moves
	header, idle time.Duration // else; 0 or below: none
	phase        atomic.Uint32
	callersTurn  func() bool // to send more of the body
}

// phase is what a request waits for.
type phase uint32

const (
	uploading phase = iota // the end of its body
	waiting                // the head of the reply
	replying               // the end of the reply
)

// start begins a total limit, prepares others, which begin with the first move, and
// returns the context that ends with it. A total of 0 without a cfg is none.
func (l *limit) start(ctx context.Context, first phase, total time.Duration, cfg *http1.OriginConfig) context.Context {
	if total == 0 && cfg == nil {
		return ctx
	}
	ctx, l.cancel = context.WithCancelCause(ctx)
	if l.total = total != 0; l.total {
		l.timer = time.AfterFunc(total, l.expire)
		return ctx
	}
	l.header, l.idle = cfg.Header, cfg.Idle
	l.timer = time.AfterFunc(max(l.header, l.idle, time.Hour), l.expire)
	l.phase.Store(uint32(first))
	return ctx
}

// moved says that something has moved, and what is waited for now: of two that are
// under way, the later.
func (l *limit) moved(now phase) {
	if l.cancel == nil {
		return
	}
	before := phase(l.phase.Load())
	for now > before && !l.phase.CompareAndSwap(uint32(before), uint32(now)) {
		before = phase(l.phase.Load())
	}
	now = max(now, before)
	d := l.idle
	if now == waiting {
		d = l.header
	}
	switch {
	case l.total:
	case d > 0:
		l.timer.Reset(d)
	default:
		l.timer.Stop()
	}
}

// rest has nothing waited for until the next move, but the end of a total.
func (l *limit) rest() {
	if l.cancel != nil && !l.total {
		l.timer.Stop()
	}
}

func (l *limit) stop() {
	if l.cancel != nil {
		l.timer.Stop()
		l.cancel(nil)
	}
}

func (l *limit) expire() {
	reason := http1.IdleTimeout
	switch now := phase(l.phase.Load()); {
	case now == waiting, now == uploading && l.total:
		reason = http1.HeaderTimeout
	case now == uploading && l.callersTurn():
		reason = http1.CallerTimeout
	}
	l.cancel(&http1.Error{Op: "receive", Reason: reason, Err: errLate})
}

var errLate = errors.New("it took too long")
