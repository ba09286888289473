package propagate

import "bytes"

// readB3 reads TRACE-SPAN, TRACE-SPAN-SAMPLED or TRACE-SPAN-SAMPLED-PARENT, or SAMPLED alone, which
// settles sampling but names no trace (openzipkin/b3-propagation, "Single Header").
func readB3(_ *IDs, _ Header, v []byte) (origin, bool) {
	if len(v) == 1 {
		record, _ := b3Sampling(v)
		return origin{record: record}, false
	}
	id, rest, cut := bytes.Cut(v, []byte("-"))
	trace, ok := b3TraceID(id)
	if !ok || !cut {
		return origin{}, false
	}
	id, rest, cut = bytes.Cut(rest, []byte("-"))
	span, ok := b3SpanID(id)
	if !ok {
		return origin{}, false
	}
	if !cut {
		return origin{trace: trace, span: span}, true
	}
	state, parent, cut := bytes.Cut(rest, []byte("-"))
	record, ok := b3Sampling(state)
	if !ok || len(state) != 1 {
		return origin{}, false
	}
	if cut {
		if _, ok := b3SpanID(parent); !ok {
			return origin{}, false
		}
	}
	return origin{trace: trace, span: span, record: record}, true
}

func writeB3(h Header, buf []byte, o origin) {
	buf = append(appendShortTraceID(buf, o.trace), '-')
	buf = append(appendHex(buf, o.span), '-', o.record.digit())
	h.Set("b3", buf)
}

// readB3Multi takes the trace id as enough: an app may forward that header alone.
func readB3Multi(_ *IDs, h Header, v []byte) (origin, bool) {
	trace, ok := b3TraceID(v)
	span, _ := b3SpanID(trim(h.Get("X-B3-SpanId")))
	return origin{trace: trace, span: span, record: b3Flags(h)}, ok
}

func writeB3Multi(h Header, buf []byte, o origin) {
	h.Set("X-B3-SpanId", appendHex(buf, o.span))
	if b3Flags(h) == unsaid {
		h.Set("X-B3-Sampled", append(buf, o.record.digit()))
	}
	buf = appendShortTraceID(buf, o.trace)
	h.Set("X-B3-TraceId", buf)
}

// b3Flags reads X-B3-Flags and X-B3-Sampled, which may come without ids. Debug means sampled.
func b3Flags(h Header) sampling {
	if string(trim(h.Get("X-B3-Flags"))) == "1" {
		return sampled
	}
	record, _ := b3Sampling(trim(h.Get("X-B3-Sampled")))
	return record
}

// b3Sampling reads a sampling state; the words are how old tracers wrote it.
func b3Sampling(b []byte) (sampling, bool) {
	switch string(b) {
	case "1", "d", "true":
		return sampled, true
	case "0", "false":
		return unsampled, true
	}
	return unsaid, false
}

func b3TraceID(b []byte) (traceID, bool) {
	if len(b) != 16 && len(b) != 32 {
		return traceID{}, false
	}
	return parseTraceID(b)
}

func b3SpanID(b []byte) (uint64, bool) {
	v, ok := parseHex(b)
	return v, ok && len(b) == 16 && v != 0
}
