package propagate

// Read finds the tag that is written on h: in the tag header, else in the baggage member, else in the
// tracestate member. What is no tag counts as not there; so do field lines, or members, that carry
// different tags. The header may say a word for a tag; the members have the tag itself. A tracestate
// beside an invalid traceparent is not read (W3C Trace Context, section 3.3.1.2).
//
// intern returns the shared string of a tag that it knows; another tag costs an allocation.
func (c *Carrier) Read(h Header, w *Wire, intern func([]byte) (string, bool)) (tag string, src Source, ok bool) {
	s := c.borrow()
	defer c.giveBack(s)
	if tag, ok = s.readHeader(h, w, w.Header, intern); ok {
		return tag, SourceHeader, true
	}
	for _, name := range w.Accept {
		if tag, ok = s.readHeader(h, w, name, intern); ok {
			return tag, SourceHeader, true
		}
	}
	if tag, ok = s.readList(h, w, &baggage, intern); ok {
		return tag, SourceBaggage, true
	}
	if tag, ok = s.readList(h, w, &tracestate, intern); ok && s.mayReadTracestate(h) {
		return tag, SourceTracestate, true
	}
	return "", SourceBase, false
}

func (s *scratch) readHeader(h Header, w *Wire, name string, intern func([]byte) (string, bool)) (string, bool) {
	var said consensus
	for _, line := range s.values(h, name) {
		said.add(w.headerTag(trim(line), intern))
	}
	return said.answer()
}

func (s *scratch) readList(h Header, w *Wire, l *list, intern func([]byte) (string, bool)) (string, bool) {
	var said consensus
	m := members{lines: s.values(h, l.name)}
	for m.next() {
		if value, ours := l.own(m.raw); ours {
			said.add(w.memberTag(s.decode(l, value), intern))
		}
	}
	return said.answer()
}

func (s *scratch) mayReadTracestate(h Header) bool {
	lines := s.values(h, formats[traceparent].name)
	if len(lines) != 1 {
		return len(lines) == 0
	}
	_, ok := readTraceparent(nil, h, trim(lines[0]))
	return ok
}
