package propagate

import (
	"bytes"
	"encoding/base64"
)

// readSkyWalking reads the eight fields of SkyWalking's cross-process propagation header, version 3:
// SAMPLE-TRACE-SEGMENT-SPAN-SERVICE-INSTANCE-ENDPOINT-ADDRESS, all but the first and the fourth in
// base64. The trace id is any text; one of 32 hexadecimal digits, as we make it, is a number.
func readSkyWalking(ids *IDs, _ Header, v []byte) (origin, bool) {
	if bytes.Count(v, []byte("-")) != 7 {
		return origin{}, false
	}
	sample, rest, _ := bytes.Cut(v, []byte("-"))
	coded, _, _ := bytes.Cut(rest, []byte("-"))
	if len(sample) != 1 || (sample[0] != '0' && sample[0] != '1') || base64.StdEncoding.DecodedLen(len(coded)) > len(ids.buf) {
		return origin{}, false
	}
	n, err := base64.StdEncoding.Decode(ids.buf[:], coded)
	if err != nil || n == 0 {
		return origin{}, false
	}
	o := origin{record: samplingOf(sample[0] == '1')}
	id := ids.buf[:n]
	if n == 32 {
		if trace, ok := parseTraceID(id); ok {
			o.trace = trace
			return o, true
		}
	}
	o.opaque = id
	return o, true
}

// writeSkyWalking names graylane as the caller: SkyWalking takes no header without one.
func writeSkyWalking(h Header, buf []byte, o origin) {
	const caller = "Z3JheWxhbmU=" // graylane
	var id [32]byte
	text := appendTraceID(id[:0], o.trace)
	buf = append(buf, o.record.digit(), '-')
	buf = append(base64.StdEncoding.AppendEncode(buf, text), '-')
	text = appendHex(id[:0], o.span)
	buf = append(base64.StdEncoding.AppendEncode(buf, text), "-0"...)
	for range 4 {
		buf = append(append(buf, '-'), caller...)
	}
	h.Set("sw8", buf)
}
