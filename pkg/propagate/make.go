package propagate

// Make adds the ids that h lacks, to h and to ids, which IDs must have filled from this head. Made
// ids go on with the trace and span of one that came if its id is a number, the traceparent's
// first, and share one new id otherwise; only X-Request-Id is always a new one. They are
// sampled as what came is. A valid traceparent goes on as it is; an invalid one, or several, are
// replaced, and the tracestate is dropped with them. Invalid ids of other formats are replaced where
// the format is to be made, and stay otherwise.
func (c *Carrier) Make(h Header, ids *IDs) {
	missing := (c.always | formatSet(c.learned.Load())).minus(ids.found)
	if ids.broken {
		missing = missing.with(traceparent)
	}
	if missing == 0 {
		return
	}
	o := c.continued(h, ids)
	for f := range formatCount {
		if missing.has(f) {
			c.write(h, ids, f, o)
		}
	}
	ids.broken = false
}

// continued returns what made ids say.
func (c *Carrier) continued(h Header, ids *IDs) origin {
	o := ids.from
	ids.settle(b3Flags(h)) // these may come without an id
	o.record = ids.record
	if o.record == unsaid {
		o.record = samplingOf(!c.unsampled)
	}
	if o.trace.zero() {
		o.trace = c.randomID()
		o.span = 0
	}
	if o.span == 0 {
		o.span = c.random()
	}
	return o
}

func (c *Carrier) write(h Header, ids *IDs, f int, o origin) {
	if f == requestID {
		o.trace = c.randomID()
	}
	formats[f].write(h, ids.buf[:0], o)
	if f == requestID {
		o.opaque = h.Get(formats[f].name)
	}
	ids.add(f, o)
}

// randomID has no half that is zero: W3C forbids a zero id, Datadog a zero lower half, and a zero
// upper half would make it an id of 64 bits.
func (c *Carrier) randomID() traceID { return traceID{hi: c.random(), lo: c.random()} }

func (c *Carrier) random() uint64 {
	for {
		if v := c.rand(); v != 0 {
			return v
		}
	}
}
