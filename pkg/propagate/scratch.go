package propagate

// scratch is what one call of Read, Write or Strip works in.
type scratch struct {
	lines   [16][]byte
	buf     []byte
	decoded [maxTag]byte
}

func (c *Carrier) borrow() *scratch { return c.scratch.Get().(*scratch) }

// giveBack keeps no reference to the head, and no buffer that an outsized head has left.
func (c *Carrier) giveBack(s *scratch) {
	const most = 16 << 10
	clear(s.lines[:])
	if cap(s.buf) <= most {
		c.scratch.Put(s)
	}
}

func (s *scratch) values(h Header, name string) [][]byte { return h.Values(s.lines[:0], name) }

// decode takes percent-encoding off a value where the list has it. What is too long for a tag, or is
// encoded wrongly, becomes nothing; whether the rest is a tag is for the caller to see.
func (s *scratch) decode(l *list, value []byte) []byte {
	if !l.percent {
		return value
	}
	n := 0
	for i := 0; i < len(value); i++ {
		if n == len(s.decoded) {
			return nil
		}
		c := value[i]
		if c == '%' {
			if i+3 > len(value) {
				return nil
			}
			v, ok := parseHex(value[i+1 : i+3])
			if !ok {
				return nil
			}
			c = byte(v)
			i += 2
		}
		s.decoded[n] = c
		n++
	}
	return s.decoded[:n]
}
