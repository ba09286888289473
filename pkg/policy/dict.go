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
// values by one look-up. It takes the bytes of the values and about 15 bytes
// an entry: lists of a million ids are usual.
type dict struct {
	seed    maphash.Seed
	marks   []uint64 // a bit for each value: most others stop there, in a tenth of the memory of the slots
	slots   []slot
	arena   []byte // the values, each after its length
	links   []link // lists of conditions; 0 is the empty one
	known   map[link]uint32
	lengths []int  // distinct lengths of the values, ascending
	shapes  shapes // of the values
	count   int    // values
	full    bool   // there were more different lists than fit: some are not there
}

// slot is an entry of the table; the zero slot is free.
type slot struct {
	at   uint32 // position in arena, plus 1
	list uint32 // first link of the conditions, below eight bits of the value's hash
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
		marks: make([]uint64, values/8+1),        // eight bits a value: one of nine others passes
		slots: make([]slot, values+values*2/3+1), // six tenths full: a value that is not there is found out in 4 steps, at nine tenths it takes 50
		links: make([]link, 1),
		known: make(map[link]uint32),
	}
}

// add says that cond names value. Conditions are added one after the other, in
// ascending order. No value is empty or longer than maxValue.
func (d *dict) add(value []byte, cond uint32) {
	hash := maphash.Bytes(d.seed, value)
	i, found := d.search(value, hash)
	s := &d.slots[i]
	if found {
		s.list = sumOf(hash) | d.extend(s.list&listMask, cond)
		return
	}
	*s = slot{at: uint32(len(d.arena)) + 1, list: sumOf(hash) | d.extend(0, cond)}
	word, bit := d.mark(hash)
	d.marks[word] |= bit
	d.count++
	d.arena = binary.AppendUvarint(d.arena, uint64(len(value)))
	d.arena = append(d.arena, value...)
	d.shapes.add(value)
	if at, known := slices.BinarySearch(d.lengths, len(value)); !known {
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
	if d == nil || !d.shapes.hasLength(len(value)) || !d.shapes.hasFirst(value[0]) {
		return 0 // no value has length 0
	}
	hash := maphash.Bytes(d.seed, value)
	if word, bit := d.mark(hash); d.marks[word]&bit == 0 {
		return 0
	}
	i, found := d.search(value, hash)
	if !found {
		return 0
	}
	return d.slots[i].list & listMask
}

// mark returns where the bit is that a value with that hash sets.
func (d *dict) mark(hash uint64) (word int, bit uint64) {
	at, _ := bits.Mul64(hash, uint64(len(d.marks))*64)
	return int(at / 64), 1 << (at % 64)
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

// search returns the slot of value, or the free one where it would go. Most
// other values are told apart by what a slot keeps of the hash, without a look at
// the arena.
func (d *dict) search(value []byte, hash uint64) (at int, found bool) {
	sum := sumOf(hash)
	top, _ := bits.Mul64(hash, uint64(len(d.slots)))
	for i := int(top); ; i++ {
		if i == len(d.slots) {
			i = 0
		}
		s := d.slots[i]
		if s.at == 0 {
			return i, false
		}
		if s.list&^listMask == sum && bytes.Equal(d.value(s), value) {
			return i, true
		}
	}
}

// sumOf returns what a slot keeps of a hash, above its list: the lowest bits,
// since the place of the slot comes from the highest.
func sumOf(hash uint64) uint32 { return uint32(hash) << listBits }

func (d *dict) value(s slot) []byte {
	rest := d.arena[s.at-1:]
	n, width := binary.Uvarint(rest)
	return rest[width : width+int(n)]
}
