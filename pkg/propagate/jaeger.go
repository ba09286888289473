package propagate

import "bytes"

// readJaeger reads TRACE:SPAN:PARENT:FLAGS in hexadecimal, leading zeros left out (Jaeger client
// libraries, "Propagation Format"). Some clients write the colons as %3A; some leave FLAGS empty.
func readJaeger(_ *IDs, _ Header, v []byte) (origin, bool) {
	id, rest, ok := cutColon(v)
	if !ok || len(id) > 32 {
		return origin{}, false
	}
	trace, traceOK := parseTraceID(id)
	id, rest, ok = cutColon(rest)
	span, spanOK := parseHex(id)
	if !ok || !traceOK || !spanOK {
		return origin{}, false
	}
	_, rest, ok = cutColon(rest) // the parent is deprecated, and whatever stands there is ignored
	if ok && len(rest) == 0 {
		return origin{trace: trace, span: span}, true
	}
	flags, flagsOK := parseHex(rest)
	if !ok || !flagsOK {
		return origin{}, false
	}
	return origin{trace: trace, span: span, record: samplingOf(flags&1 != 0)}, true
}

func cutColon(b []byte) (before, after []byte, found bool) {
	for i, c := range b {
		if c == ':' {
			return b[:i], b[i+1:], true
		}
		if c == '%' && len(b) >= i+3 && bytes.EqualFold(b[i:i+3], []byte("%3A")) {
			return b[:i], b[i+3:], true
		}
	}
	return b, nil, false
}

func writeJaeger(h Header, buf []byte, o origin) {
	buf = append(appendShortTraceID(buf, o.trace), ':')
	buf = append(appendHex(buf, o.span), ":0:"...)
	buf = append(buf, o.record.digit())
	h.Set("uber-trace-id", buf)
}
