package upstream

import (
	"context"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Endpoint is one address of a version. What is known of it outlives the policies
// that name it.
type Endpoint struct {
	traffic

	Address string // as the policy or the source names it

	roster *roster
	host   string                 // where the address has no port: what stands before it; else ""
	origin atomic.Pointer[Origin] // nil where the address has no port
	h2c    atomic.Bool            // its origins are those of h2c

	mu      sync.Mutex
	circuit circuit
	check   checked
	sick    bool      // out, or kept in for want of others
	since   time.Time // when it became so, or ceased to be
	why     string    // it failed last
	next    schedule

	_ [24]byte // to a multiple of cacheLine, so that all of them begin at one
}

func newEndpoint(address string, h2c bool, r *roster) *Endpoint {
	ep := &Endpoint{Address: address, roster: r, since: r.table.now()}
	ep.h2c.Store(h2c)
	ep.tells = uint32(hashOf(address) % tellEvery)
	if _, _, err := net.SplitHostPort(address); err == nil {
		ep.origin.Store(r.originsOf(h2c).cfg.origin(address))
		return ep
	}
	ep.host = address
	if strings.Contains(address, ":") && !strings.HasPrefix(address, "[") {
		ep.host = "[" + address + "]" // an IPv6 address, which a port may follow in brackets only
	}
	return ep
}

// Origin returns where to send a request to the endpoint. The authority is what
// the caller named: its port, 80 if it has none, is that of an endpoint without
// one.
func (e *Endpoint) Origin(authority []byte) *Origin {
	if origin := e.origin.Load(); origin != nil {
		return origin
	}
	var scratch [maxAuthority]byte
	return e.roster.originsOf(e.h2c.Load()).get(appendPort(append(scratch[:0], e.host...), authority))
}

// speak makes the origin anew, for the settings of the roster and the protocol.
func (e *Endpoint) speak(h2c bool) {
	e.h2c.Store(h2c)
	if old := e.origin.Load(); old != nil {
		e.origin.Store(e.roster.originsOf(h2c).cfg.origin(e.Address))
		old.Close()
	}
}

// retire closes the idle connections; busy ones end with their request.
func (e *Endpoint) retire() {
	if origin := e.origin.Load(); origin != nil {
		origin.Close()
	}
}

// report takes what became of a request, and why it failed.
func (e *Endpoint) report(began, now time.Time, o outcome, why string) {
	if (o == good || o == unknown) && !e.troubled.Load() {
		return
	}
	e.change(now, why, func() { e.circuit.report(&e.roster.table.breaking, began, now, o) })
}

// change does something to what is known of the endpoint, and makes the picks
// see it.
func (e *Endpoint) change(now time.Time, why string, do func()) {
	e.mu.Lock()
	before := e.circuit
	wasSick, wasOut := e.sick, e.circuit.open || e.check.ill
	do()
	e.troubled.Store(e.circuit.failures > 0 || e.circuit.isOut())
	e.sick = e.circuit.isOut() || e.check.ill
	if why != "" {
		e.why = why
	}
	if isOut := e.circuit.open || e.check.ill; isOut && !wasOut {
		e.roster.counters.ejections.Add(1)
	}
	if e.sick != wasSick {
		e.since = now
		e.tell(before.doubt || e.circuit.doubt)
		if !e.sick && !before.doubt {
			e.warming.Store(&warming{from: now})
		}
	}
	seen := e.sick != wasSick || e.circuit != before && (before.isOut() || e.circuit.isOut())
	e.mu.Unlock()
	if seen {
		e.roster.refresh()
		e.roster.table.wake()
	}
}

// admit begins a trial, if the endpoint is due for one.
func (e *Endpoint) admit(now time.Time) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return !e.check.ill && e.circuit.admit(&e.roster.table.breaking, now)
}

// trialDue returns when the endpoint may next be tried with a request; not, where
// it is for the active check to bring it back.
func (e *Endpoint) trialDue() (time.Time, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.circuit.due(&e.roster.table.breaking), e.circuit.isOut() && !e.check.ill
}

// sickSince returns since when the endpoint is sick, if it is.
func (e *Endpoint) sickSince() (time.Time, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.since, e.sick
}

// uncheck forgets what active checks have told: there are none any more.
func (e *Endpoint) uncheck() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.check, e.next.check = checked{}, time.Time{}
	e.sick = e.circuit.isOut()
}

// tell logs that the endpoint has fallen sick, or has recovered.
func (e *Endpoint) tell(doubt bool) {
	level := slog.LevelInfo
	if doubt {
		level = slog.LevelDebug // most are over before anyone could look
	}
	e.roster.table.log().Log(context.Background(), level, "health of an endpoint changed",
		"service", e.roster.service, "tag", e.roster.tag, "endpoint", e.Address, "sick", e.sick, "why", e.why)
}
