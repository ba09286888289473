package http1

import "errors"

var errOptions = errors.New("too many Connection options")

const maxOptions = 64 // far more than anybody sends; each is looked for among all lines

// options is what the Connection lines of a head say.
type options struct {
	close, keepAlive, upgrade bool
	fate                      fate
	leaving                   bool
}

// readOptions reads the Connection lines and marks the fields that they name as meant for this hop,
// unless they are protected.
func (h *head) readOptions(keep []string) (o options, err error) {
	n := 0
	for i := range h.fields {
		f := &h.fields[i]
		if f.known != kConnection {
			continue
		}
		for v := h.valueOf(f); len(v) > 0; {
			var option []byte
			if option, v = nextItem(v); len(option) == 0 {
				continue
			}
			if n++; n > maxOptions {
				return o, errOptions
			}
			switch {
			case equalFold(option, "close"):
				o.close = true
			case equalFold(option, "keep-alive"):
				o.keepAlive = true
			case equalFold(option, "upgrade"):
				o.upgrade = true
			case equalFold(option, fates[unsent]):
				o.fate = unsent
			case equalFold(option, fates[unanswered]):
				o.fate = unanswered
			case equalFold(option, Leaving):
				o.leaving = true
			case !protect(keep, option):
				h.markHop(option)
			}
		}
	}
	return o, nil
}

func (h *head) markHop(name []byte) {
	for i := range h.fields {
		f := &h.fields[i]
		if f.known == other && len(h.nameOf(f)) == len(name) && sameName(h.nameOf(f), string(name)) {
			f.flags |= hop
		}
	}
}

// protected are names that belong to the message, not to the connection, or that carry the trace:
// naming them in Connection would only serve to get rid of them.
var protected = [...]string{
	"x-gray", "traceparent", "tracestate", "baggage", "b3", "x-b3-traceid", "x-b3-spanid",
	"x-b3-parentspanid", "x-b3-sampled", "x-b3-flags", "x-request-id", "uber-trace-id", "sw8",
	"x-datadog-trace-id", "x-datadog-parent-id", "x-datadog-sampling-priority", "x-amzn-trace-id",
	"authorization", "cache-control", "content-encoding", "content-range", "content-type", "cookie",
	"date", "etag", "forwarded", "location", "origin", "range", "set-cookie", "x-forwarded-for",
	"x-forwarded-host", "x-forwarded-proto", "x-real-ip",
}

// protect says that Connection cannot remove name, in keep or among those that nobody may lose.
func protect(keep []string, name []byte) bool {
	for _, s := range protected {
		if equalFold(name, s) {
			return true
		}
	}
	for _, s := range keep {
		if len(s) == len(name) && sameName(name, s) {
			return true
		}
	}
	return false
}
