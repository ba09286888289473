package upstream

import (
	"context"
	"sync"
	"time"
)

const (
	// spread is how far apart the first checks of the endpoints of a version are at
	// most: soon enough to know, and not all at once.
	spread = time.Second
	// jitter is the part of an interval by which checks are moved at random, so
	// that many sidecars do not fall into step.
	jitter = 0.1
)

// schedule is what is to be asked of an endpoint, and when.
type schedule struct {
	check    time.Time // zero: not planned
	checking bool
	probing  bool
}

// Run checks the endpoints that are to be checked, and probes those that could
// not be connected to, until ctx ends. It returns nil.
func (t *Table) Run(ctx context.Context) error {
	asks := newAsker(t.cfg.Dial)
	defer asks.close()
	var running sync.WaitGroup
	defer running.Wait()
	for {
		jobs, next := t.due(t.now())
		for _, job := range jobs {
			running.Go(func() { job.run(ctx, asks) })
		}
		timer := time.NewTimer(next.Sub(t.now()))
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		case <-t.woken:
			timer.Stop()
		}
	}
}

// idleLook is when to look again where nothing is planned.
const idleLook = time.Hour

// job is one question to one endpoint.
type job struct {
	ep    *Endpoint
	check *Check // nil: a probe
}

// due returns what is to be asked now, and when something next is.
func (t *Table) due(now time.Time) (jobs []job, next time.Time) {
	next = now.Add(idleLook)
	for _, r := range t.all() {
		r.mu.Lock()
		for _, ep := range r.endpoints {
			if ep.origin.Load() == nil {
				continue // no port to ask at
			}
			ep.mu.Lock()
			if ep.planProbe(now, &next) {
				jobs = append(jobs, job{ep: ep})
			}
			if r.check != nil && ep.planCheck(r.check, now, &next) {
				jobs = append(jobs, job{ep, r.check})
			}
			ep.mu.Unlock()
		}
		r.mu.Unlock()
	}
	return jobs, next
}

func (e *Endpoint) planProbe(now time.Time, next *time.Time) bool {
	at, wanted := e.circuit.probeAt(&e.roster.table.breaking)
	if !wanted || e.next.probing {
		return false
	}
	if now.Before(at) {
		*next = earlier(*next, at)
		return false
	}
	e.next.probing = true
	return true
}

func (e *Endpoint) planCheck(c *Check, now time.Time, next *time.Time) bool {
	if e.next.checking {
		return false
	}
	random := float64(e.roster.table.rand()>>32) / wholeRange
	if e.next.check.IsZero() {
		e.next.check = now.Add(time.Duration(random * float64(min(spread, c.Interval))))
	}
	if now.Before(e.next.check) {
		*next = earlier(*next, e.next.check)
		return false
	}
	e.next.checking = true
	e.next.check = now.Add(time.Duration(float64(c.Interval) * (1 + jitter*(2*random-1))))
	return true
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func (j job) run(ctx context.Context, asks *asker) {
	t := j.ep.roster.table
	if j.check == nil {
		err := asks.connect(ctx, j.ep.Address, j.ep.roster.connectTimeout())
		if ctx.Err() == nil {
			j.ep.probed(t.now(), err)
		}
		return
	}
	err := asks.check(ctx, j.ep.Address, j.ep.h2c.Load(), j.check)
	if ctx.Err() == nil {
		j.ep.checked(t.now(), j.check, err)
	}
}

// probed takes what became of a connection of ours.
func (e *Endpoint) probed(now time.Time, err error) {
	e.change(now, text(err), func() {
		e.next.probing = false
		e.circuit.probed(&e.roster.table.breaking, now, err == nil)
	})
	e.roster.table.wake()
}

// checked takes the answer to an active check.
func (e *Endpoint) checked(now time.Time, c *Check, err error) {
	counters := &e.roster.counters
	if err == nil {
		counters.passed.Add(1)
	} else {
		counters.failed.Add(1)
	}
	doubtful := false
	e.change(now, text(err), func() {
		e.next.checking = false
		if e.next.check.IsZero() {
			return // a policy without checks came into force meanwhile
		}
		doubtful = err != nil && !e.check.ill
		e.check.report(c, err == nil)
		if err == nil {
			e.circuit.passed(now, c.HealthyAfter)
		}
	})
	if doubtful {
		e.roster.doubt()
	}
	e.roster.table.wake()
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
