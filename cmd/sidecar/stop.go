package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"syscall"
	"time"
)

const (
	// look is how often a draining sidecar looks whether it is done, and ask how
	// often it asks whether the app is.
	look = 20 * time.Millisecond
	ask  = 250 * time.Millisecond
	// lastWords is for scrapes and probes that are being answered at the end.
	lastWords = time.Second
)

// beginDrain makes the sidecar unready and asks its callers, by Connection: close and GOAWAY,
// to go elsewhere. It serves on.
func (sc *sidecar) beginDrain() {
	sc.drainOnce.Do(func() {
		sc.drainedAt = time.Now()
		sc.ready.Drain()
		sc.inbound.drain()
		sc.gateway.drain()
		sc.log.Info("draining", "grace", sc.settings.Grace, "drain", sc.settings.Drain)
	})
}

// stop ends the sidecar in order: it accepts for the rest of the grace, until its
// callers have heard that it is going; drains what they sent; and keeps the app's way
// out open for as long as the app lives: until it holds no connection to us, and its
// own port is closed. Operators are answered until after that.
func (sc *sidecar) stop(ctx context.Context) {
	sc.beginDrain()
	sleep(ctx, sc.settings.Grace-time.Since(sc.drainedAt))

	ctx, cancel := context.WithTimeout(ctx, sc.settings.Drain)
	defer cancel()
	sc.inbound.set.StopAccepting()
	sc.gateway.set.StopAccepting()
	sc.inbound.giveUp()
	waitFor(ctx, look, sc.inbound.set.Finished)
	waitFor(ctx, look, sc.gateway.set.Finished)
	waitFor(ctx, ask, sc.appGone(ctx))
	sc.outbound.set.StopAccepting()
	sc.outbound.giveUp()
	waitFor(ctx, look, sc.outbound.set.Finished)

	cut := 0
	for _, side := range sc.sides() {
		cut += side.active()
	}
	if cut > 0 {
		sc.log.Warn("requests and connections cut, since they took longer than the drain", "number", cut)
	}
	for _, side := range sc.sides() {
		side.close()
	}

	sc.log.Info("stopped")
}

// closeOperators ends the admin and the health port, after the answers under way.
func (sc *sidecar) closeOperators(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
	defer cancel()
	for _, s := range []*http.Server{sc.healthServer, sc.adminServer} {
		if err := s.Shutdown(ctx); err != nil {
			sc.log.Debug("requests of operators cut", "error", err)
		}
	}
}

// appGone returns whether the app has ended; where it has not, that is logged once,
// since an operator sees a sidecar that does not stop.
func (sc *sidecar) appGone(ctx context.Context) func() bool {
	logged := false
	return func() bool {
		open := sc.outbound.set.Open()
		listening := open == 0 && !gone(ctx, sc.settings.App)
		if (open > 0 || listening) && !logged {
			logged = true
			sc.log.Info("waiting for the app to end: its port is open, or it holds connections to us",
				"app", sc.settings.App, "connections", open, "drain", sc.settings.Drain)
		}
		return open == 0 && !listening
	}
}

// gone reports whether nobody listens where the app did.
func gone(ctx context.Context, app string) bool {
	dialer := net.Dialer{Timeout: ask}
	conn, err := dialer.DialContext(ctx, "tcp", app)
	if err != nil {
		return errors.Is(err, syscall.ECONNREFUSED)
	}
	_ = conn.Close() // nothing was written that could be lost
	return false
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

func waitFor(ctx context.Context, every time.Duration, done func() bool) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for !done() {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}
