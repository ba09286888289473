package propagate

import "bytes"

// list is a header that is a comma-separated list of members, one of which is ours.
type list struct {
	name   string
	member string // the key of our member
	// What a receiver must take; it may drop all of a list that has more.
	members int
	bytes   int
	// large members are the first to go when there is too much; 0: all are alike.
	large   int
	percent bool // values are percent-encoded, and may have properties
}

var (
	// W3C Baggage, section 3.3.2: limits.
	baggage = list{name: "baggage", member: baggageMember, members: 64, bytes: 8192, percent: true}
	// W3C Trace Context, section 3.3.1.1 and 3.3.1.5: list members, and limits.
	tracestate = list{name: "tracestate", member: tracestateMember, members: 32, bytes: 512, large: 128}
)

// carriers are lists that tracers read as they do baggage, and send on as such. What they say of our
// member is never read, and goes no further.
var carriers = [...]list{
	{name: "jaeger-baggage", member: baggageMember},      // Jaeger client libraries, "Propagation Format"
	{name: "correlation-context", member: baggageMember}, // .NET, and baggage before W3C named it
}

// names reports whether a member is ours for whoever takes keys less exactly than W3C does: tracers
// drop spaces around a key, also such that are none in HTTP, and some take percent-encoding off it
// (OpenTelemetry for JavaScript and .NET), or '+' for a space (for Python).
func (l *list) names(raw []byte) bool {
	key, _, ok := bytes.Cut(raw, []byte("="))
	if !ok {
		return false
	}
	want := l.member
	for len(key) > 0 {
		c, n := key[0], 1
		if c == '%' && len(key) >= 3 {
			if v, ok := parseHex(key[1:3]); ok {
				c, n = byte(v), 3
			}
		}
		key = key[n:]
		if c <= ' ' || c >= 0x7f || c == '+' {
			continue
		}
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if len(want) == 0 || c != want[0] {
			return false
		}
		want = want[1:]
	}
	return len(want) == 0
}

// own returns the value of a member that is ours, as we spell it: another spelling is not believed.
func (l *list) own(raw []byte) (value []byte, ours bool) {
	key, value, ok := bytes.Cut(raw, []byte("="))
	if !ok || string(trim(key)) != l.member {
		return nil, false
	}
	if l.percent {
		value, _, _ = bytes.Cut(value, []byte(";"))
	}
	return trim(value), true
}

// members walks over the members of all field lines of a list, in order. Several lines are one list
// (RFC 9110, section 5.3). What stands between two commas is a member here even where it is empty.
type members struct {
	lines [][]byte
	raw   []byte // the member, with the spaces around it
	rest  []byte
	more  bool // a comma came, so that something follows, if only an empty member
}

func (m *members) next() bool {
	if !m.more {
		if len(m.lines) == 0 {
			return false
		}
		m.rest, m.lines = m.lines[0], m.lines[1:]
	}
	m.raw, m.rest, m.more = bytes.Cut(m.rest, []byte(","))
	return true
}

func blank(raw []byte) bool { return len(trim(raw)) == 0 }

// tally is what stands in a list.
type tally struct {
	members int    // those that are not empty
	bytes   int    // all of it as one field line
	ours    int    // members that are ours, however they are spelled
	right   bool   // one of them says the tag
	small   budget // what others' members take that are not large
}

func (s *scratch) count(l *list, lines [][]byte, tag string) tally {
	t := tally{bytes: -1} // one comma less than members
	m := members{lines: lines}
	for m.next() {
		t.bytes += len(m.raw) + 1
		if !blank(m.raw) {
			t.members++
		}
		if l.names(m.raw) {
			t.ours++
			value, ours := l.own(m.raw)
			t.right = t.right || ours && string(s.decode(l, value)) == tag
		} else if !l.isLarge(m.raw) {
			t.small.add(m.raw)
		}
	}
	return t
}

func (l *list) isLarge(raw []byte) bool { return l.large > 0 && len(trim(raw)) > l.large }

// write puts our member first, where it is dropped last by others too, unless it is there already
// and nothing is too much.
func (s *scratch) write(h Header, l *list, tag string) {
	lines := s.values(h, l.name)
	t := s.count(l, lines, tag)
	if t.ours == 1 && t.right && t.members <= l.members && t.bytes <= l.bytes {
		return
	}
	s.buf = append(append(append(s.buf[:0], l.member...), '='), tag...)
	all := budget{members: l.members - 1, bytes: l.bytes - len(s.buf)}
	large := budget{members: all.members - t.small.members, bytes: all.bytes - t.small.bytes}
	s.appendOthers(l, lines, all, large)
	h.Set(l.name, s.buf)
}

// strip takes our member out; a list without it is not touched.
func (s *scratch) strip(h Header, l *list) {
	lines := s.values(h, l.name)
	t := s.count(l, lines, "")
	if t.ours == 0 {
		return
	}
	if t.members == t.ours {
		h.Del(l.name)
		return
	}
	s.buf = s.buf[:0]
	whole := budget{members: t.members, bytes: t.bytes + 1}
	s.appendOthers(l, lines, whole, whole)
	h.Set(l.name, trim(s.buf))
}

// appendOthers appends the members of others, as they are and in their order, as far as they fit.
func (s *scratch) appendOthers(l *list, lines [][]byte, all, large budget) {
	m := members{lines: lines}
	for m.next() {
		if l.names(m.raw) {
			continue
		}
		if l.isLarge(m.raw) && !large.take(m.raw) {
			continue
		}
		if !all.take(m.raw) {
			return
		}
		if len(s.buf) > 0 {
			s.buf = append(s.buf, ',')
		}
		s.buf = append(s.buf, m.raw...)
	}
}

// budget is an amount of members and of bytes, a comma for each counted in.
type budget struct{ members, bytes int }

func (b *budget) add(raw []byte) {
	if !blank(raw) {
		b.members++
	}
	b.bytes += len(raw) + 1
}

// take reports whether raw fits, and uses up its share. After the first that does not fit nothing
// does: what is dropped is dropped from the end.
func (b *budget) take(raw []byte) bool {
	var cost budget
	cost.add(raw)
	if cost.members > b.members || cost.bytes > b.bytes {
		*b = budget{}
		return false
	}
	b.members -= cost.members
	b.bytes -= cost.bytes
	return true
}
