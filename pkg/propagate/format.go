package propagate

// origin is what one trace header says.
type origin struct {
	trace  traceID  // the trace, if its id is a number
	opaque []byte   // the id, if it is not; borrowed from the head or from scratch
	span   uint64   // the caller's span; 0 if the header names none
	record sampling // whether the trace is recorded
}

// sampling is what a trace header says about recording the trace.
type sampling uint8

const (
	unsaid sampling = iota
	sampled
	unsampled
)

// samplingOf is sampled for true.
func samplingOf(yes bool) sampling {
	if yes {
		return sampled
	}
	return unsampled
}

// digit is '1' for a trace that is recorded and '0' for one that is not.
func (s sampling) digit() byte {
	if s == unsampled {
		return '0'
	}
	return '1'
}

// format is one way to write a trace id on a request.
type format struct {
	name string
	// space is the key space of ids in this format that are no numbers.
	space space
	// read takes what the one field line says. false: it holds no id, though it may settle sampling.
	read func(ids *IDs, h Header, value []byte) (origin, bool)
	// write puts o on h, with the header's companions. buf is scratch.
	write func(h Header, buf []byte, o origin)
}

// The formats, as indexes of formats.
const (
	traceparent = iota
	b3Single
	b3Multi
	requestID
	jaeger
	skywalking
	datadog
	xray
	formatCount
)

// formats is in the order in which ids are asked by default.
var formats = [formatCount]format{
	traceparent: {name: "traceparent", read: readTraceparent, write: writeTraceparent},
	b3Single:    {name: "b3", read: readB3, write: writeB3},
	b3Multi:     {name: "X-B3-TraceId", read: readB3Multi, write: writeB3Multi},
	requestID:   {name: "X-Request-Id", space: requestSpace, read: readRequestID, write: writeRequestID},
	jaeger:      {name: "uber-trace-id", read: readJaeger, write: writeJaeger},
	skywalking:  {name: "sw8", space: skywalkingSpace, read: readSkyWalking, write: writeSkyWalking},
	datadog:     {name: "x-datadog-trace-id", read: readDatadog, write: writeDatadog},
	xray:        {name: "X-Amzn-Trace-Id", read: readXRay, write: writeXRay},
}

// formatSet is a set of formats, one bit each.
type formatSet uint32

func (s formatSet) has(f int) bool              { return s&(1<<f) != 0 }
func (s formatSet) with(f int) formatSet        { return s | 1<<f }
func (s formatSet) minus(o formatSet) formatSet { return s &^ o }

// trim takes spaces and tabs off both ends (OWS, RFC 9110, section 5.6.3).
func trim(b []byte) []byte {
	for len(b) > 0 && isOWS(b[0]) {
		b = b[1:]
	}
	for len(b) > 0 && isOWS(b[len(b)-1]) {
		b = b[:len(b)-1]
	}
	return b
}

func isOWS(c byte) bool { return c == ' ' || c == '\t' }
