package propagate

import (
	"bytes"
	"strconv"
)

// readDatadog reads a decimal id of 64 bits. The upper half of a 128-bit one comes in hexadecimal
// as the member _dd.p.tid of x-datadog-tags.
func readDatadog(_ *IDs, h Header, v []byte) (origin, bool) {
	lo, ok := parseDecimal(v)
	if !ok || lo == 0 {
		return origin{}, false
	}
	span, _ := parseDecimal(trim(h.Get("x-datadog-parent-id")))
	return origin{
		trace:  traceID{hi: datadogUpper(h), lo: lo},
		span:   span,
		record: datadogSampling(trim(h.Get("x-datadog-sampling-priority"))),
	}, true
}

func datadogUpper(h Header) uint64 {
	rest := h.Get("x-datadog-tags")
	for len(rest) > 0 {
		var member []byte
		member, rest, _ = bytes.Cut(rest, []byte(","))
		digits, ok := bytes.CutPrefix(trim(member), []byte("_dd.p.tid="))
		if ok && len(digits) == 16 {
			hi, _ := parseHex(digits)
			return hi
		}
	}
	return 0
}

// datadogSampling reads a sampling priority: 1 and more keep the trace, 0 and less drop it.
func datadogSampling(b []byte) sampling {
	digits, negative := bytes.CutPrefix(b, []byte("-"))
	v, ok := parseDecimal(digits)
	if !ok {
		return unsaid
	}
	return samplingOf(v > 0 && !negative)
}

func writeDatadog(h Header, buf []byte, o origin) {
	if o.trace.lo == 0 {
		return // Datadog's word for no id
	}
	h.Set("x-datadog-parent-id", strconv.AppendUint(buf, o.span, 10))
	if h.Get("x-datadog-sampling-priority") == nil {
		h.Set("x-datadog-sampling-priority", append(buf, o.record.digit()))
	}
	if o.trace.hi != 0 && h.Get("x-datadog-tags") == nil {
		h.Set("x-datadog-tags", appendHex(append(buf, "_dd.p.tid="...), o.trace.hi))
	}
	buf = strconv.AppendUint(buf, o.trace.lo, 10)
	h.Set("x-datadog-trace-id", buf)
}
