package propagate

// Write puts tag on h, in place of any that is there: in the tag header, in the baggage member and in
// the tracestate member. Members of others stay as they are, byte for byte and in their order, and
// ours comes first, where it is dropped last; where there is too much for what W3C asks of a
// receiver, whole members of others are dropped from the end. Several field lines of a list become
// one when it has to change. Other names for the tag header, look-alikes included, are taken off.
//
// What is no tag is written as base, whatever it is.
func (c *Carrier) Write(h Header, w *Wire, tag string) {
	if _, word := w.Words[tag]; word || !validTag(tag) {
		tag = baseTag
	}
	s := c.borrow()
	defer c.giveBack(s)
	s.takeOff(h, w)
	s.buf = append(s.buf[:0], w.valueOf(tag)...)
	h.Set(w.Header, s.buf)
	s.write(h, &baggage, tag)
	s.write(h, &tracestate, tag)
}

// Strip takes the tag header, its other names and look-alikes, and both members off h, and our member
// off the other headers of baggage. Members of others stay as they are.
func (c *Carrier) Strip(h Header, w *Wire) {
	s := c.borrow()
	defer c.giveBack(s)
	s.takeOff(h, w)
	s.strip(h, &baggage)
	s.strip(h, &tracestate)
}

// items are headers that carry one member of baggage each. A tracer that reads one sends it on as
// baggage, which would then say what nobody of ours has written.
var items = [...]string{
	"uberctx-" + baggageMember,    // Jaeger
	"ot-baggage-" + baggageMember, // OpenTracing, Datadog
	"baggage-" + baggageMember,    // B3, of Brave
}

// takeOff removes what is read by others as our tag and never written by us.
func (s *scratch) takeOff(h Header, w *Wire) {
	h.DelAlike(w.Header)
	for _, name := range w.Accept {
		h.DelAlike(name)
	}
	for _, name := range items {
		h.DelAlike(name)
	}
	for i := range carriers {
		s.strip(h, &carriers[i])
	}
}

// valueOf returns the header value for tag.
func (w *Wire) valueOf(tag string) string {
	if value, ok := w.Values[tag]; ok {
		return value
	}
	return tag
}
