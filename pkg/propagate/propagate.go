// Package propagate carries the mark of an inbound request to the outbound requests it causes.
//
// Three pieces, in the order in which a request meets them. [Carrier.Read] finds a tag that was
// written on the request: in the tag header, in a baggage member, or in a tracestate member.
// [Carrier.IDs] lists the trace ids that the request carries, whatever format they are in, and
// [Carrier.Make] adds the ones that are missing, so that an app that forwards any one trace header
// gives us something to know the request by. [Ledger] remembers which tag went in under an id, and
// answers for the outbound call that comes back with it. [Carrier.Write] puts the tag on the request
// three times; [Carrier.Strip] takes it off again.
//
// The package knows nothing of policies, peers or connections: whom to believe is the caller's
// question. Nothing here allocates at steady state.
package propagate

// The names under which a tag travels beside the tag header. They do not follow the header's name:
// sidecars of two policies must still understand one another.
const (
	baggageMember    = "x-gray"
	tracestateMember = "graylane"
)

// baseTag is the reserved tag of what carries no other.
const baseTag = "base"

// Header is the head of a request, read and edited in place. Names are matched in any case. What a
// Header returns is valid until the head is edited.
type Header interface {
	// Get returns the value of the first field line with this name, nil if there is none.
	Get(name string) []byte
	// Values appends the values of all field lines with this name to dst, in order.
	Values(dst [][]byte, name string) [][]byte
	// Set leaves one field line with this name, in place of all. The value is copied.
	Set(name string, value []byte)
	// Del removes every field line with this name.
	Del(name string)
	// DelAlike removes every field line whose name an app behind CGI or WSGI cannot tell from this
	// one: there every byte that is no letter or digit becomes '_', so that X_Gray and X.Gray arrive
	// as X-Gray does (RFC 3875, section 4.1.18). The name itself is one of them.
	DelAlike(name string)
}

// Wire says how tags look on requests: what the policy in force settles about it. It holds what was
// compiled once for that policy, so that one can be put together for each request.
type Wire struct {
	// Header is the name of the tag header.
	Header string
	// Accept lists other names that are read after Header, in order, and taken off, never written.
	Accept []string
	// Values gives the header value of a tag where that is not the tag itself, such as gray: "yes".
	// It must be a field value as it is (RFC 9110, section 5.5).
	Values map[string]string
	// Words gives the tag that a header value means where it is not that tag itself: those of
	// Values, and such as "true". A word is no tag: it means nothing in baggage and tracestate, which
	// carry the tag itself, and is never written.
	Words map[string]string
}

// Mark is what one request carries.
type Mark struct {
	Tag    string
	Source Source
	// Trace is the trace id for logs. It is valid as long as the IDs it came from.
	Trace []byte
}

// Decided reports whether the tag holds for the rest of the chain: then it is written and remembered.
func (m Mark) Decided() bool { return m.Source != SourceUndecided }

// Source says which rung of the ladder gave a request its tag.
type Source uint8

// The rungs, in the order in which they are asked. SourceUndecided stands for a request that no rule
// has taken yet and a later call of its chain may decide (decide: first-match in the policy);
// SourceOff for one that was marked base since the policy is switched off.
const (
	SourceHeader Source = iota
	SourceBaggage
	SourceTracestate
	SourceLedger
	SourcePod
	SourceRule
	SourceBase
	SourceUndecided
	SourceOff
)

var sourceNames = [...]string{
	SourceHeader:     "header",
	SourceBaggage:    "baggage",
	SourceTracestate: "tracestate",
	SourceLedger:     "ledger",
	SourcePod:        "pod",
	SourceRule:       "rule",
	SourceBase:       "base",
	SourceUndecided:  "undecided",
	SourceOff:        "off",
}

// String returns the name that logs and metrics use.
func (s Source) String() string {
	if int(s) >= len(sourceNames) {
		return "unknown"
	}
	return sourceNames[s]
}

// Sources lists every source, in the order of the ladder.
func Sources() []Source {
	all := make([]Source, len(sourceNames))
	for i := range all {
		all[i] = Source(i)
	}
	return all
}
