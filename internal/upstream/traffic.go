package upstream

import "sync/atomic"

// cacheLine is what cores hand to each other when both write to it, in bytes:
// waiting for it takes longer than all else that picking does.
const cacheLine = 64

// traffic is what the requests to an endpoint write, and what they look at to do
// so. It is one cache line, which the endpoint shares with nothing else.
type traffic struct {
	load     load
	latency  latency
	warming  atomic.Pointer[warming] // nil: takes its full part
	failures atomic.Uint64           // requests that the endpoint has not answered
	troubled atomic.Bool             // successes matter to the circuit
	tells    uint32                  // the budget, when of tellEvery requests so many have ended
	_        [cacheLine - 40]byte
}

// load counts the requests to an endpoint: those that have begun, above those that
// are under way. In one word, beginning and ending are one write each.
type load struct{ word atomic.Uint64 }

const (
	begun    = 1 << 20 // one request; the bits below have room for a million under way
	underway = begun - 1
)

// begin counts a request, unless as many as the limit are under way; 0: no limit.
// It returns how many are now, 0 if it counted none.
func (l *load) begin(limit int) int {
	if limit == 0 {
		return int(l.word.Add(begun+1) & underway)
	}
	for {
		old := l.word.Load()
		if int(old&underway) >= limit {
			return 0
		}
		if l.word.CompareAndSwap(old, old+begun+1) {
			return int(old&underway) + 1
		}
	}
}

// undo takes back what begin counted.
func (l *load) undo() { l.word.Add(^uint64(begun)) }

// end ends a request, and returns how many have ended.
func (l *load) end() uint64 {
	now := l.word.Add(^uint64(0))
	return now/begun - now&underway
}

// inFlight returns how many requests are under way.
func (l *load) inFlight() int64 { return int64(l.word.Load() & underway) }

// requests returns how many have begun.
func (l *load) requests() uint64 { return l.word.Load() / begun }

// shared is a number that all cores write. It has a cache line to itself, and the
// one beside it, which processors fetch along with it.
type shared struct {
	atomic.Int64
	_ [2*cacheLine - 8]byte
}
