package policy

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"math/bits"
	"slices"
)

// dict maps values to the conditions that name them. All conditions on one
// source share one, so that a request is compared with any number of rules and
// values by one look-up. It takes the bytes of the values and about 14 bytes
// an entry: lists of a million ids are usual.
type dict struct {
	seed    maphash.Seed
	slots   []slot
	arena   []byte // the values, each after its length
	links   []link // lists of conditions; 0 is the empty one
	known   map[link]uint32
	lengths []int                   // distinct lengths of the values, ascending
	sized   [maxValue/64 + 1]uint64 // lengths that values have, as bits
	begun   [256 / 64]uint64        // first bytes that values have, as bits
	count   int                     // values
	full    bool                    // there were more different lists than fit: some are not there
}

// slot is an entry of the table; the zero slot is free.
type slot struct {
	at   uint32 // position in arena, plus 1
	list uint32 // first link of the conditions, below 8 bits of the value's hash
}

// link is one condition of a list and where the rest of it is. Equal lists
// are one list.
type link struct {
	cond uint32
	next uint32
}

const (
	listBits = 24
	listMask = 1<<listBits - 1 // also the most links that a dict can hold
)

// newDict returns a dict with room for that many values.
func newDict(values int) *dict {
	return &dict{
		seed:  maphash.MakeSeed(),
		slots: make([]slot, values+values*2/3+1), // six tenths full: a value that is not there is found out in 4 steps, at nine tenths it takes 50
		links: make([]link, 1),
		known: make(map[link]uint32),
	}
}

// add says that cond names value. Conditions are added one after the other, in
// ascending order. No value is empty or longer than maxValue.
func (d *dict) add(value []byte, cond uint32) {
	i, sum, found := d.search(value)
	if found {
		s := &d.slots[i]
		s.list = sum<<listBits | d.extend(s.list&listMask, cond)
		return
	}
	d.slots[i] = slot{at: uint32(len(d.arena)) + 1, list: sum<<listBits | d.extend(0, cond)}
	d.count++
	d.arena = binary.AppendUvarint(d.arena, uint64(len(value)))
	d.arena = append(d.arena, value...)
	d.begun[value[0]/64] |= 1 << (value[0] % 64)
	if !d.hasLength(len(value)) {
		d.sized[len(value)/64] |= 1 << (len(value) % 64)
		at, _ := slices.BinarySearch(d.lengths, len(value))
		d.lengths = slices.Insert(d.lengths, at, len(value))
	}
}

// extend returns the list that holds cond and what list holds.
func (d *dict) extend(list, cond uint32) uint32 {
	if list != 0 && d.links[list].cond == cond {
		return list
	}
	l := link{cond: cond, next: list}
	if at, ok := d.known[l]; ok {
		return at
	}
	at := uint32(len(d.links))
	if at > listMask {
		d.full = true
		return list
	}
	d.links = append(d.links, l)
	d.known[l] = at
	return at
}

// seal lets go of what only building needs.
func (d *dict) seal() {
	d.known = nil
	d.arena = slices.Clip(d.arena)
	d.links = slices.Clip(d.links)
}

// find returns the first link of the conditions that name value, 0 for none.
// It does not allocate. A nil dict names nothing.
func (d *dict) find(value []byte) uint32 {
	if d == nil || !d.maybe(value) {
		return 0
	}
	i, _, found := d.search(value)
	if !found {
		return 0
	}
	return d.slots[i].list & listMask
}

// maybe tells whether a value with that length and one with that first byte was
// added: for most parts of a request that is enough not to look further.
func (d *dict) maybe(value []byte) bool {
	return d.hasLength(len(value)) && d.begun[value[0]/64]&(1<<(value[0]%64)) != 0
}

func (d *dict) hasLength(n int) bool {
	return n <= maxValue && d.sized[n/64]&(1<<(n%64)) != 0
}

// names tells whether cond names value.
func (d *dict) names(value []byte, cond uint32) bool {
	if d == nil {
		return false
	}
	for at := d.find(value); at != 0; at = d.links[at].next {
		if d.links[at].cond == cond {
			return true
		}
	}
	return false
}

// search returns the slot of value, or the free one where it would go, and
// what a slot keeps of its hash: most other values are told apart by that,
// without a look at the arena.
func (d *dict) search(value []byte) (at int, sum uint32, found bool) {
	hash := maphash.Bytes(d.seed, value)
	sum = uint32(hash & 0xff) // the place comes from the top bits
	top, _ := bits.Mul64(hash, uint64(len(d.slots)))
	for i := int(top); ; i++ {
		if i == len(d.slots) {
			i = 0
		}
		s := d.slots[i]
		if s.at == 0 {
			return i, sum, false
		}
		if s.list>>listBits == sum && bytes.Equal(d.value(s), value) {
			return i, sum, true
		}
	}
}

func (d *dict) value(s slot) []byte {
	rest := d.arena[s.at-1:]
	n, width := binary.Uvarint(rest)
	return rest[width : width+int(n)]
}
