package policy

// shapes tells which lengths and which first bytes a set of values has. For most
// of what requests say that is enough to know that it is none of them.
type shapes struct {
	lengths [maxValue/64 + 1]uint64 // as bits
	firsts  [256 / 64]uint64        // as bits
}

// add takes in a value, which is not empty and at most maxValue long.
func (s *shapes) add(value []byte) {
	s.lengths[len(value)/64] |= 1 << (len(value) % 64)
	s.firsts[value[0]/64] |= 1 << (value[0] % 64)
}

// fit tells whether there are values of that length and with that first byte.
func (s *shapes) fit(first byte, length int) bool { return s.hasLength(length) && s.hasFirst(first) }

func (s *shapes) hasLength(n int) bool {
	return n <= maxValue && s.lengths[n/64]&(1<<(n%64)) != 0
}

func (s *shapes) hasFirst(c byte) bool { return s.firsts[c/64]&(1<<(c%64)) != 0 }
