package propagate

// readTraceparent reads VERSION-TRACE-SPAN-FLAGS (W3C Trace Context, section 3.2). Version 00 ends
// there; a later version may go on after another dash, and is read as far as we know it. Upper-case
// digits, version ff and zero ids are invalid.
func readTraceparent(_ *IDs, _ Header, v []byte) (origin, bool) {
	const length = len("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	if len(v) < length || v[2] != '-' || v[35] != '-' || v[52] != '-' || hasUpper(v[:length]) {
		return origin{}, false
	}
	version, ok := parseHex(v[:2])
	if !ok || version == 0xff || (version == 0 && len(v) > length) || (len(v) > length && v[length] != '-') {
		return origin{}, false
	}
	trace, traceOK := parseTraceID(v[3:35])
	span, spanOK := parseHex(v[36:52])
	flags, flagsOK := parseHex(v[53:55])
	if !traceOK || !spanOK || !flagsOK || span == 0 {
		return origin{}, false
	}
	return origin{trace: trace, span: span, record: samplingOf(flags&1 != 0)}, true
}

// writeTraceparent drops the tracestate too: it belongs to the traceparent that was not there, or
// that could not be read (W3C Trace Context, section 3.3.1.2).
func writeTraceparent(h Header, buf []byte, o origin) {
	buf = append(buf, "00-"...)
	buf = append(appendTraceID(buf, o.trace), '-')
	buf = append(appendHex(buf, o.span), "-0"...)
	buf = append(buf, o.record.digit())
	h.Set("traceparent", buf)
	h.Del("tracestate")
}
