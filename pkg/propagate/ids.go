package propagate

import (
	"crypto/sha256"
	"encoding/binary"
)

// IDs holds the trace ids of one request, as keys of a fixed size, in the order in which they are
// asked. It is scratch: the zero value is ready, [Carrier.IDs] starts it over, and it should be kept
// and reused, being too large for a stack.
//
// Ids that are hexadecimal or decimal numbers share one key space, so that an app that reads
// traceparent and sends b3 is known by either: traceparent, b3, X-B3-TraceId, uber-trace-id,
// x-datadog-trace-id, X-Amzn-Trace-Id, and a sw8 whose trace id is 32 digits. X-Request-Id has a
// space of its own, and so have the other ids of sw8: they are any text, and kept as 128 bits of
// their SHA-256.
//
// An id of 64 bits is the lower half of one of 128: tracers that know 64 bits cut the rest off. So
// a request with a 128-bit id can be found by its lower half too; but one that comes back with 128
// bits is looked for by all of them only, since some generators make ids that differ in the upper
// half alone.
type IDs struct {
	keys   [2 * formatCount]key
	n      int
	came   int       // of the keys: those of ids that came with the request, the others were made
	asked  formatSet // the formats whose ids are keys
	found  formatSet // the formats that hold an id, made ones included
	broken bool      // a traceparent came that is invalid
	from   origin    // what made ids go on with; no trace if no id that came is a number
	record sampling  // what came about sampling; unsampled outweighs sampled

	text   [64]byte
	length int

	lines [4][]byte
	buf   [512]byte
}

// Trace returns the trace id to log: the traceparent's if there is one, else that of the first id in
// the order of the trace headers, in lower-case digits without zeros in place of a missing upper
// half; a text is cut at 64 bytes. It is empty if there is no id, and valid until ids is used for
// another request.
func (ids *IDs) Trace() []byte { return ids.text[:ids.length] }

// key is an id in its space. A space is never 0, so that no key is the zero value.
type key struct {
	hi, lo uint64
	space  space
	alias  bool // the lower half of a longer id: remembered, not asked
}

type space uint8

const (
	numberSpace space = iota + 1
	requestSpace
	skywalkingSpace
)

func (ids *IDs) reset(asked formatSet) {
	ids.n, ids.came, ids.length = 0, 0, 0
	ids.asked, ids.found = asked, 0
	ids.broken = false
	ids.from, ids.record = origin{}, unsaid
}

// add takes in what the header of format f says.
func (ids *IDs) add(f int, o origin) {
	ids.found = ids.found.with(f)
	if f == traceparent || ids.length == 0 {
		ids.log(o)
	}
	if o.opaque == nil && (f == traceparent || ids.from.trace.zero()) {
		ids.from = o
	}
	if !ids.asked.has(f) {
		return
	}
	if o.opaque != nil {
		sum := sha256.Sum256(o.opaque)
		ids.push(key{
			hi:    binary.BigEndian.Uint64(sum[:8]),
			lo:    binary.BigEndian.Uint64(sum[8:16]),
			space: formats[f].space,
		})
		return
	}
	ids.push(key{hi: o.trace.hi, lo: o.trace.lo, space: numberSpace})
	if o.trace.hi != 0 && o.trace.lo != 0 {
		ids.push(key{lo: o.trace.lo, space: numberSpace, alias: true})
	}
}

// push adds k unless it is there; what is asked under one name and an alias under another is asked.
func (ids *IDs) push(k key) {
	for i := range ids.keys[:ids.n] {
		have := &ids.keys[i]
		if have.hi == k.hi && have.lo == k.lo && have.space == k.space {
			have.alias = have.alias && k.alias
			return
		}
	}
	ids.keys[ids.n] = k
	ids.n++
}

func (ids *IDs) log(o origin) {
	if o.opaque != nil {
		ids.length = copy(ids.text[:], o.opaque)
		return
	}
	ids.length = len(appendShortTraceID(ids.text[:0], o.trace))
}

// settle takes in what a header says about sampling.
func (ids *IDs) settle(s sampling) {
	if ids.record != unsampled && s != unsaid {
		ids.record = s
	}
}
