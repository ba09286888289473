package upstream

import "time"

// breaking is when a circuit opens, and for how long.
type breaking struct {
	failures int           // in a row
	out      time.Duration // the first time; twice as long each time that follows
	most     time.Duration // at most
	doubt    time.Duration // after a failure to connect, unless a probe tells more
	probe    time.Duration // after a failure to connect: when we try to
	patience time.Duration // with a trial or a probe that does not end
}

// defaultBreaking is what the policy language promises.
func defaultBreaking() breaking {
	return breaking{
		failures: 3, out: 30 * time.Second, most: 5 * time.Minute,
		doubt: 5 * time.Second, probe: 500 * time.Millisecond, patience: 30 * time.Second,
	}
}

// outcome is what one request tells of the endpoint that it was sent to.
type outcome uint8

const (
	good      outcome = iota // it answered
	bad                      // not in time, or with 502, 503 or 504
	broken                   // it ended the connection before its reply
	unreached                // no connection to it was made
	unknown                  // the request ended for another reason
)

// circuit takes an endpoint out after failures in a row, and lets one request in
// after a while, to try it. An endpoint that could not be connected to is in
// doubt: it is out until a probe, which is a connection of ours, tells more, so
// that no second request waits for a connection that will not come. The zero
// circuit is closed: requests pass.
type circuit struct {
	failures int  // in a row, while closed
	doubt    bool // out, while closed
	open     bool // out, or kept in for want of others
	shut     bool // open, and no trial before a probe
	lost     bool // open, since connections to it failed or broke
	passes   int  // active checks that passed since

	from  time.Time     // requests that began before it tell of the time before
	back  time.Time     // when it closed
	out   time.Duration // how long the last time out was
	trips int           // without a lasting return between them
	trial time.Time     // when the trial under way began; zero: none
	retry time.Time     // in doubt: when a request tries it, if no probe has told more
}

// isOut tells whether requests should go elsewhere.
func (c *circuit) isOut() bool { return c.open || c.doubt }

// report takes what became of a request that began at that time.
func (c *circuit) report(rules *breaking, began, now time.Time, o outcome) {
	switch {
	case began.Before(c.from):
	case o == unknown:
		c.trial = time.Time{}
	case o == good && c.open:
		c.close(now)
	case o == good:
		c.clear()
	case c.open:
		c.trip(rules, now, o)
	default:
		c.fail(rules, now, o)
	}
}

// probed takes what became of a connection of ours.
func (c *circuit) probed(rules *breaking, now time.Time, reached bool) {
	switch {
	case c.shut && reached:
		c.shut = false
	case c.shut:
		c.trip(rules, now, unreached)
	case c.doubt && reached:
		c.clear()
	case c.doubt:
		c.fail(rules, now, unreached)
	}
}

// passed takes that an active check has found the endpoint well, of which so many
// are needed. Who was out since connections to it failed has come back then, and
// need not wait for its time to be over; who answers with errors must.
func (c *circuit) passed(now time.Time, needed int) {
	c.passes++
	switch {
	case c.doubt:
		c.clear()
	case c.lost && c.passes >= needed:
		c.close(now)
	}
}

func (c *circuit) fail(rules *breaking, now time.Time, o outcome) {
	c.failures++
	switch {
	case c.failures >= rules.failures:
		c.trip(rules, now, o)
	case o == unreached:
		c.doubt, c.retry, c.trial = true, now.Add(rules.doubt), time.Time{}
	}
}

func (c *circuit) clear() {
	c.failures, c.doubt, c.trial = 0, false, time.Time{}
}

func (c *circuit) trip(rules *breaking, now time.Time, o outcome) {
	// Who stayed in longer than it was out has recovered; who did not is out for
	// longer each time.
	if !c.open && now.Sub(c.back) > c.out {
		c.trips = 0
	}
	c.out = rules.out
	for range c.trips {
		c.out = min(2*c.out, rules.most)
	}
	c.trips++
	c.clear()
	c.open, c.shut, c.lost, c.passes = true, o == unreached, o == unreached || o == broken, 0
	c.from = now.Add(c.out)
}

func (c *circuit) close(now time.Time) {
	c.clear()
	c.open, c.shut, c.lost = false, false, false
	c.from, c.back = now, now
}

// due is when the next trial may begin, while it is out.
func (c *circuit) due(rules *breaking) time.Time {
	switch {
	case !c.trial.IsZero():
		return c.trial.Add(rules.patience)
	case c.doubt:
		return c.retry
	case c.shut:
		return c.from.Add(rules.patience)
	}
	return c.from
}

// admit begins a trial, if one is due.
func (c *circuit) admit(rules *breaking, now time.Time) bool {
	if !c.isOut() || now.Before(c.due(rules)) {
		return false
	}
	c.trial = now
	return true
}

// probeAt returns when we should connect to find out more, if we should.
func (c *circuit) probeAt(rules *breaking) (time.Time, bool) {
	if c.shut {
		return c.from, true
	}
	return c.retry.Add(rules.probe - rules.doubt), c.doubt
}
