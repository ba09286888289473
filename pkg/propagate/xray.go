package propagate

import "bytes"

// readXRay reads KEY=VALUE fields, of which Root=1-TIME-REST is the trace id: 8 and 24 hexadecimal
// digits (AWS X-Ray, "Tracing header").
func readXRay(_ *IDs, _ Header, v []byte) (o origin, ok bool) {
	for len(v) > 0 {
		var field []byte
		field, v, _ = bytes.Cut(v, []byte(";"))
		key, value, _ := bytes.Cut(trim(field), []byte("="))
		switch string(key) {
		case "Root":
			o.trace, ok = xrayRoot(value)
		case "Parent":
			o.span, _ = b3SpanID(value)
		case "Sampled":
			o.record, _ = b3Sampling(value)
		}
	}
	return o, ok
}

func xrayRoot(b []byte) (traceID, bool) {
	const length = len("1-5759e988-bd862e3fe1be46a994272793")
	if len(b) != length || b[0] != '1' || b[1] != '-' || b[10] != '-' {
		return traceID{}, false
	}
	time, timeOK := parseHex(b[2:10])
	high, highOK := parseHex(b[11:19])
	low, lowOK := parseHex(b[19:])
	id := traceID{hi: time<<32 | high, lo: low}
	return id, timeOK && highOK && lowOK && !id.zero()
}

func writeXRay(h Header, buf []byte, o origin) {
	var id [32]byte
	appendTraceID(id[:0], o.trace)
	buf = append(append(buf, "Root=1-"...), id[:8]...)
	buf = append(append(buf, '-'), id[8:]...)
	buf = appendHex(append(buf, ";Parent="...), o.span)
	buf = append(append(buf, ";Sampled="...), o.record.digit())
	h.Set("X-Amzn-Trace-Id", buf)
}
