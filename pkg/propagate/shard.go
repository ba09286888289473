package propagate

import (
	"sync"
	"time"
)

// shard is one part of the ledger: a queue of entries in a ring, the oldest first, and a hash table of
// chains through it.
type shard struct {
	mu    sync.Mutex
	start time.Time // of its clock: the first put
	limit int       // entries
	ring  []entry
	head  int // index of the oldest
	count int
	table []slot // the first of each chain; a power of two
	tags  tagTable
}

// entry is one id. It holds no pointers, so that the garbage collector passes over the ring.
type entry struct {
	hi, lo  uint64
	expires tick
	clash   tick // ambiguous until then
	hash    uint16
	next    slot
	tag     uint16 // number in tags
	space   space
	again   bool // put again since it was queued
}

// slot is an index of ring, plus 1: 0 ends a chain.
type slot uint16

// tick counts tenths of a second from the first put; 13 years of them fit.
type tick uint32

const tickLength = 100 * time.Millisecond

// put reports whether it has made the id ambiguous.
func (s *shard) put(now time.Time, ttl time.Duration, hash uint64, k *key, tag string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.store(now, ttl, hash, k, tag)
}

// settle returns the tag that is known, or else puts this one and returns it.
func (s *shard) settle(now time.Time, ttl time.Duration, hash uint64, k *key, tag string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, ok := s.lookUp(now, hash, k); ok {
		return known
	}
	s.store(now, ttl, hash, k, tag)
	return tag
}

func (s *shard) get(now time.Time, hash uint64, k *key) (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lookUp(now, hash, k)
}

func (s *shard) store(now time.Time, ttl time.Duration, hash uint64, k *key, tag string) bool {
	if s.ring == nil {
		s.start = now
	}
	t := s.tick(now)
	s.sweep(t)
	e := s.find(hash, k)
	if e == nil {
		s.makeRoom()
		e = s.push(entry{hi: k.hi, lo: k.lo, space: k.space, hash: uint16(hash), tag: s.tags.take(tag)})
	}
	// Rounded up: an id never expires early.
	expires := s.tick(now.Add(ttl + tickLength - 1))
	old := s.tags.name(e.tag)
	clashes := old != tag && t < e.expires
	fresh := clashes && t >= e.clash
	if clashes {
		e.clash = expires
	}
	if old != tag {
		was := e.tag
		e.tag = s.tags.take(tag)
		s.tags.giveBack(was)
	}
	e.again = e.expires != 0
	e.expires = expires
	return fresh
}

func (s *shard) lookUp(now time.Time, hash uint64, k *key) (string, bool) {
	e := s.find(hash, k)
	if e == nil {
		return "", false
	}
	if t := s.tick(now); t >= e.expires || t < e.clash {
		return "", false
	}
	return s.tags.name(e.tag), true
}

func (s *shard) len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count
}

// tick is 0 for what is before the first put: callers take the time before they take the lock.
func (s *shard) tick(now time.Time) tick {
	return tick(max(0, now.Sub(s.start)/tickLength))
}

func (s *shard) find(hash uint64, k *key) *entry {
	if s.table == nil {
		return nil
	}
	for at := *s.chain(uint16(hash)); at != 0; {
		e := &s.ring[at-1]
		if e.hi == k.hi && e.lo == k.lo && e.space == k.space {
			return e
		}
		at = e.next
	}
	return nil
}

// sweep lets go of what has expired: two entries a put, so that none pays for many.
func (s *shard) sweep(t tick) {
	for range 2 {
		switch {
		case s.count == 0:
			return
		case s.ring[s.head].expires <= t:
			s.drop()
		case s.ring[s.head].again:
			s.requeue()
		default:
			return
		}
	}
}

// makeRoom sees to it that one more entry fits.
func (s *shard) makeRoom() {
	const tries = 4 // an entry that was put again is spared, but no put looks further than this
	if s.count < len(s.ring) {
		return
	}
	if s.count < s.limit {
		s.grow()
		return
	}
	for range tries {
		if !s.ring[s.head].again {
			break
		}
		s.requeue()
	}
	s.drop()
}

// grow doubles the ring, and puts the oldest at its start.
func (s *shard) grow() {
	const first = 16
	old, head := s.ring, s.head
	s.ring = make([]entry, min(s.limit, max(first, 2*len(old))))
	buckets := first
	for buckets < len(s.ring) {
		buckets *= 2
	}
	s.table = make([]slot, buckets)
	n := s.count
	s.head, s.count = 0, 0
	for i := range n {
		s.push(old[(head+i)%len(old)])
	}
}

// push queues e as the newest. There must be room.
func (s *shard) push(e entry) *entry {
	i := (s.head + s.count) % len(s.ring)
	s.count++
	first := s.chain(e.hash)
	e.next = *first
	*first = slot(i + 1)
	s.ring[i] = e
	return &s.ring[i]
}

// pop takes the oldest out of the queue and its chain.
func (s *shard) pop() entry {
	e := s.ring[s.head]
	at := s.chain(e.hash)
	for int(*at) != s.head+1 {
		at = &s.ring[*at-1].next
	}
	*at = e.next
	s.head = (s.head + 1) % len(s.ring)
	s.count--
	return e
}

func (s *shard) drop() { s.tags.giveBack(s.pop().tag) }

func (s *shard) requeue() {
	e := s.pop()
	e.again = false
	s.push(e)
}

func (s *shard) chain(hash uint16) *slot { return &s.table[int(hash)&(len(s.table)-1)] }

// tagTable numbers the tags that entries carry. A tag that no entry carries any more gives its number
// back, so that there are never more than entries.
type tagTable struct {
	names []string
	uses  []int // entries that carry it
	index map[string]uint16
	free  []uint16
}

func (t *tagTable) name(n uint16) string { return t.names[n] }

func (t *tagTable) take(tag string) uint16 {
	n, ok := t.index[tag]
	if !ok {
		n = t.add(tag)
	}
	t.uses[n]++
	return n
}

func (t *tagTable) add(tag string) uint16 {
	if t.index == nil {
		t.index = make(map[string]uint16)
	}
	if last := len(t.free) - 1; last >= 0 {
		n := t.free[last]
		t.free = t.free[:last]
		t.names[n], t.index[tag] = tag, n
		return n
	}
	n := uint16(len(t.names))
	t.names = append(t.names, tag)
	t.uses = append(t.uses, 0)
	t.index[tag] = n
	return n
}

func (t *tagTable) giveBack(n uint16) {
	if t.uses[n]--; t.uses[n] > 0 {
		return
	}
	delete(t.index, t.names[n])
	t.names[n] = ""
	t.free = append(t.free, n)
}
