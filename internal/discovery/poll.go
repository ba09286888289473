package discovery

import (
	"context"
	"errors"
	"time"

	"graylane/internal/upstream"
)

const (
	// leastTTL keeps records that must not be kept from being asked for without a
	// pause.
	leastTTL = time.Second
	// mostTTL is how long a change may go unseen whatever the records say.
	mostTTL = 5 * time.Minute
	// mostEmpty is the same where there is nothing: what appears should be used soon.
	mostEmpty = 5 * time.Second
	// The pause after a failure, which doubles up to mostRetry.
	leastRetry = time.Second
	mostRetry  = 10 * time.Second
)

// question asks once. The answer is good for that time. Beside an error it is what
// can be used although something is missing, nil for nothing.
type question func(ctx context.Context) (targets []upstream.Target, ttl time.Duration, err error)

// poll asks again whenever the answer is good no longer, or in doubt, until ctx ends.
func poll(ctx context.Context, ask question, to Sink, doubts <-chan struct{}) {
	retry := leastRetry
	for {
		asked := time.Now()
		targets, ttl, err := ask(ctx)
		if ctx.Err() != nil {
			return
		}
		wait, listen := retry, doubts
		retry = min(2*retry, mostRetry)
		switch {
		case err == nil:
			to.Set(targets)
			wait, retry = bounded(ttl, len(targets)), leastRetry
		case targets != nil:
			to.Partial(targets, err)
		case errors.Is(err, errNoAddress):
			to.Stale(err)
			wait, retry = leastRetry, leastRetry // the servers are well, and callers wait for somebody to be there
		default:
			to.Stale(err)
			listen = nil // nobody doubts more than we do, and servers that are down are not to be asked more often
		}
		if !sleep(ctx, wait, listen) || !sleep(ctx, leastTTL-time.Since(asked), nil) {
			return
		}
	}
}

// sleep waits that long, or for a doubt. It tells whether to go on: ctx has not ended.
func sleep(ctx context.Context, wait time.Duration, doubts <-chan struct{}) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-doubts:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

func bounded(ttl time.Duration, found int) time.Duration {
	if found == 0 {
		ttl = min(ttl, mostEmpty)
	}
	return min(max(ttl, leastTTL), mostTTL)
}
