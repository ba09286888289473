package e2e

import (
	"fmt"
	"math/rand/v2"
	"strconv"
)

// traceHeaders are the headers by which apps forward a trace, as `--trace-headers` lists them.
var traceHeaders = []string{
	"traceparent", "b3", "X-B3-TraceId", "X-Request-Id", "uber-trace-id", "sw8", "x-datadog-trace-id", "X-Amzn-Trace-Id",
}

// randomID is a trace id of 128 bits in hex, and never zero.
func randomID() string {
	return fmt.Sprintf("%016x%016x", rand.Uint64()|1<<63, rand.Uint64()|1)
}

// traceValue writes a trace id of 32 hex digits as the format of a trace header wants it.
func traceValue(header, id string) string {
	switch header {
	case "traceparent":
		return "00-" + id + "-" + id[:16] + "-01"
	case "b3":
		return id + "-" + id[:16] + "-1"
	case "uber-trace-id":
		return id + ":" + id[:16] + ":0:1"
	case "sw8": // eight parts by dashes, all but the first and the fourth in base64
		return "1-" + base64Text(id) + "-" + base64Text(id[:16]) + "-0-Zg==-aQ==-L2E=-Yjo4MA=="
	case "x-datadog-trace-id": // decimal, 64 bits
		n, err := strconv.ParseUint(id[16:], 16, 64)
		if err != nil {
			panic(err) // randomID makes hex
		}
		return strconv.FormatUint(n, 10)
	case "X-Amzn-Trace-Id":
		return "Root=1-" + id[:8] + "-" + id[8:] + ";Parent=" + id[:16] + ";Sampled=1"
	default: // X-B3-TraceId, X-Request-Id: the id itself
		return id
	}
}
