package propagate

import (
	"encoding/binary"
	"hash/maphash"
	"sync/atomic"
	"time"
)

// Ledger remembers which tag went in under which trace id. It ties an outbound call to the inbound
// request that caused it, also when that request is long answered.
//
// An id answers for ttl after it was last put. Two differing tags put under one id within ttl make it
// ambiguous: it answers no more until ttl has passed since the last that differed. Memory is bounded:
// when it is full, the ids that were put longest ago make room. It is safe for concurrent use.
type Ledger struct {
	shards    []shard // a power of two
	seed      maphash.Seed
	ttl       time.Duration
	conflicts atomic.Uint64
}

// idsPerTrace is how many ids the usual request has: a traceparent, its lower half, and X-Request-Id.
const idsPerTrace = 3

// NewLedger returns a Ledger for size traces, at least one, of the usual three ids each, which it
// remembers for ttl. It takes memory as it fills: 36 bytes an id, 11 MB for 100,000 traces.
func NewLedger(size int, ttl time.Duration) *Ledger {
	ids := max(1, size) * idsPerTrace
	n := shardsFor(ids)
	l := &Ledger{shards: make([]shard, n), seed: maphash.MakeSeed(), ttl: ttl}
	for i := range l.shards {
		l.shards[i].limit = (ids + n - 1) / n
	}
	return l
}

// Put remembers tag under every id of ids, base as well as any other. It is for decided requests: one
// that nobody has marked is not put, so that it erases nothing.
func (l *Ledger) Put(now time.Time, ids *IDs, tag string) { l.put(now, ids.keys[:ids.n], tag) }

func (l *Ledger) put(now time.Time, keys []key, tag string) {
	clash := false
	for i := range keys {
		k := &keys[i]
		hash := l.hash(k)
		if l.shardOf(hash).put(now, l.ttl, hash, k, tag) {
			clash = true
		}
	}
	// Once per request, however many of its ids were there.
	if clash {
		l.conflicts.Add(1)
	}
}

// Settle is for a request that starts a chain here: it returns the tag that is known for the first id
// that came with it, if one is, and else remembers tag for those that came. So requests of one trace
// that are decided at the same moment all go by the decision of one. Ids that were made for the
// request are left to Put, for where somebody gets to see them.
func (l *Ledger) Settle(now time.Time, ids *IDs, tag string) string {
	came := ids.keys[:ids.came]
	for i := range came {
		if !came[i].alias {
			hash := l.hash(&came[i])
			tag = l.shardOf(hash).settle(now, l.ttl, hash, &came[i], tag)
			break
		}
	}
	l.put(now, came, tag)
	return tag
}

// Get returns the tag of the first id, in the order of the trace headers, that is known and not
// ambiguous.
func (l *Ledger) Get(now time.Time, ids *IDs) (tag string, ok bool) {
	for i := range ids.keys[:ids.n] {
		k := &ids.keys[i]
		if k.alias {
			continue
		}
		hash := l.hash(k)
		if tag, ok = l.shardOf(hash).get(now, hash, k); ok {
			return tag, true
		}
	}
	return "", false
}

// Conflicts returns how many requests have made an id ambiguous that was not so before.
func (l *Ledger) Conflicts() uint64 { return l.conflicts.Load() }

// Len returns how many ids are held; those that have expired are let go as others come.
func (l *Ledger) Len() int {
	n := 0
	for i := range l.shards {
		n += l.shards[i].len()
	}
	return n
}

// hash is seeded: callers choose the ids, and must not choose where they go.
func (l *Ledger) hash(k *key) uint64 {
	var b [17]byte
	binary.LittleEndian.PutUint64(b[:], k.hi)
	binary.LittleEndian.PutUint64(b[8:], k.lo)
	b[16] = byte(k.space)
	return maphash.Bytes(l.seed, b[:])
}

// shardOf uses the upper half of the hash; the shard itself uses the lower.
func (l *Ledger) shardOf(hash uint64) *shard {
	return &l.shards[int(hash>>32)&(len(l.shards)-1)]
}

// shardsFor returns how many shards hold so many ids: one for few, so that the oldest goes first
// exactly, and enough for many, so that cores seldom meet and growing one is not noticed.
func shardsFor(ids int) int {
	const (
		least = 1 << 10 // ids in a shard, before there is a second
		most  = 1 << 15 // ids in a shard: slots and tags are numbered in 16 bits
		usual = 64      // shards
	)
	n := 1
	for ids/n > least && (n < usual || ids/n >= most) {
		n *= 2
	}
	return n
}
