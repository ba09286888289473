package policy

import (
	"math/bits"
	"time"
)

// share is the part of the matching requests that a rule takes.
type share struct {
	kind  shareKind
	by    int    // index of the source it sticks to, -1: random
	salt  uint64 // hash of the rule's salt
	size  Percent
	ramp  ramp
	parts []uint8  // part of each bucket; noPart: outside
	tags  []string // of the parts
}

type shareKind uint8

const (
	everything shareKind = iota
	fixed
	ramped
	split
)

// noPart marks a bucket of a split that no part has.
const noPart = 255

// at returns the share at that time.
func (s *share) at(now time.Time) Percent {
	switch s.kind {
	case fixed:
		return s.size
	case ramped:
		return s.ramp.at(now)
	}
	return whole
}

// bucketOf places a key in one of 10,000 buckets, by the hash of the key and
// the hash of the salt. It is the same in every process and every release: a
// share of n percent is the buckets below n * 100.
func bucketOf(key, salt uint64) Percent {
	return scale(mix(key ^ salt))
}

// scale maps a number that is evenly spread over 64 bits to a bucket.
func scale(n uint64) Percent {
	top, _ := bits.Mul64(n, uint64(whole))
	return Percent(top)
}

// hash64 is FNV-1a with 64 bits, finished by mix, so that neighbouring ids
// land far apart.
func hash64[T string | []byte](s T) uint64 {
	const (
		offset = 14695981039346656037
		prime  = 1099511628211
	)
	h := uint64(offset)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * prime
	}
	return mix(h)
}

// mix spreads every bit of h over all of them (the finaliser of MurmurHash3).
func mix(h uint64) uint64 {
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

// ramp is a share that is a function of the clock alone, so that every pod
// agrees on it.
type ramp struct {
	from, to, step Percent
	start          time.Time
	over           time.Duration
}

// at returns the share at that time: nothing before the start, from at the
// start, to at the end and after it, and steps of step between.
func (r *ramp) at(now time.Time) Percent {
	passed := now.Sub(r.start)
	switch {
	case passed < 0:
		return 0
	case passed >= r.over:
		return r.to
	}
	// Milliseconds: nanoseconds of a year times 10,000 do not fit 64 bits.
	way := int64(r.to-r.from) * passed.Milliseconds() / max(r.over.Milliseconds(), 1)
	return r.from + Percent(way)/r.step*r.step
}

// partsOf gives each bucket to a part. The first part fills from the bottom,
// the last from the top, those between from places between; a bucket that an
// earlier part has is passed over. So with two parts nobody moves when a share
// is raised, and with more a raised part moves at most as many as it gains.
// (With three that nobody ever moves is impossible.)
func partsOf(sizes []Percent) []uint8 {
	parts := make([]uint8, whole)
	for i := range parts {
		parts[i] = noPart
	}
	for part, size := range sizes {
		at, step := start(part, len(sizes))
		for ; size > 0; at += step {
			at = (at + int(whole)) % int(whole)
			if parts[at] == noPart {
				parts[at] = uint8(part)
				size--
			}
		}
	}
	return parts
}

// start returns where a part begins to fill, and in which direction.
func start(part, parts int) (at, step int) {
	if part == parts-1 && part > 0 {
		return int(whole) - 1, -1
	}
	return part * int(whole) / max(parts-1, 1), 1
}
