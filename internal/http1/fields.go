package http1

// head is one section of field lines as it came, with the start line before it, and the edits made
// to it. Nothing is moved or copied until it is written.
type head struct {
	raw    []byte
	own    []byte // names and values that we put in
	fields []field
	mask   uint64 // of the names that are, or were, there
	at     int    // scanned up to here, a start of a line
	seen   int    // no control character before here
}

type span struct{ from, to uint32 }

// field is one line; its name and value are spans of head.raw, or of head.own.
type field struct {
	name, value span
	end         uint32 // of the line in head.raw
	known       known
	flags       flags
}

type flags uint8

const (
	gone     flags = 1 << iota // neither found nor written
	hop                        // for one hop: found, not written
	ownName                    // name is a span of own
	ownValue                   // value is a span of own
	tidy                       // written as "name: value", without odd spaces
	beside                     // in place of no other line
)

// known are the names that mean something to a relay.
type known uint8

const (
	other known = iota
	kTE
	kHost
	kExpect
	kUpgrade
	kTrailer
	kConnection
	kKeepAlive
	kContentLength
	kHTTP2Settings
	kProxyConnection
	kTransferEncoding
	kProxyAuthorization
)

// identify finds a known name.
func identify[T []byte | string](name T) known {
	switch len(name) {
	case 2:
		return pick(name, "te", kTE)
	case 4:
		return pick(name, "host", kHost)
	case 6:
		return pick(name, "expect", kExpect)
	case 7:
		if fold(name[0]) == 'u' {
			return pick(name, "upgrade", kUpgrade)
		}
		return pick(name, "trailer", kTrailer)
	case 10:
		if fold(name[0]) == 'c' {
			return pick(name, "connection", kConnection)
		}
		return pick(name, "keep-alive", kKeepAlive)
	case 14:
		if fold(name[0]) == 'c' {
			return pick(name, "content-length", kContentLength)
		}
		return pick(name, "http2-settings", kHTTP2Settings)
	case 16:
		return pick(name, "proxy-connection", kProxyConnection)
	case 17:
		return pick(name, "transfer-encoding", kTransferEncoding)
	case 19:
		return pick(name, "proxy-authorization", kProxyAuthorization)
	}
	return other
}

func pick[T []byte | string](name T, want string, k known) known {
	if equalFold(name, want) {
		return k
	}
	return other
}

// maskOf spreads names over 64 bits, so that most names that are not there are found out at once.
func maskOf[T []byte | string](name T) uint64 {
	n := len(name)
	return 1 << ((uint(n)*31 + uint(fold(name[0]))*7 + uint(fold(name[n-1]))) & 63)
}

func (h *head) reset() {
	h.raw, h.own, h.fields = nil, h.own[:0], h.fields[:0]
	h.mask, h.at, h.seen = 0, 0, 0
	if cap(h.fields) > 256 || cap(h.own) > small { // the scratch of an unusual request is not kept
		h.fields, h.own = nil, nil
	}
}

func (h *head) nameOf(f *field) []byte {
	if f.flags&ownName != 0 {
		return h.own[f.name.from:f.name.to:f.name.to]
	}
	return h.raw[f.name.from:f.name.to:f.name.to]
}

func (h *head) valueOf(f *field) []byte {
	if f.flags&ownValue != 0 {
		return h.own[f.value.from:f.value.to:f.value.to]
	}
	return h.raw[f.value.from:f.value.to:f.value.to]
}

// find returns the index of the next line of that name from i on, or -1.
func (h *head) find(name string, i int) int {
	if len(name) == 0 || h.mask&maskOf(name) == 0 {
		return -1
	}
	for ; i < len(h.fields); i++ {
		f := &h.fields[i]
		if int(f.name.to-f.name.from) == len(name) && f.flags&gone == 0 && sameName(h.nameOf(f), name) {
			return i
		}
	}
	return -1
}

func sameName(a []byte, b string) bool {
	for i := range a {
		if fold(a[i]) != fold(b[i]) {
			return false
		}
	}
	return true
}

// get is the value of the first line of that name, not nil if there is one.
func (h *head) get(name string) []byte {
	i := h.find(name, 0)
	if i < 0 {
		return nil
	}
	return h.valueOf(&h.fields[i])
}

func (h *head) values(dst [][]byte, name string) [][]byte {
	for i := h.find(name, 0); i >= 0; i = h.find(name, i+1) {
		dst = append(dst, h.valueOf(&h.fields[i]))
	}
	return dst
}

// set puts value into the first line of that name and removes the others; without one it adds a line.
func (h *head) set(name string, value []byte) {
	if len(name) == 0 {
		return
	}
	v := keep(h, value)
	i := h.find(name, 0)
	if i < 0 {
		n := keep(h, name)
		h.fields = append(h.fields, field{name: n, value: v, known: identify(h.own[n.from:n.to]), flags: ownName | ownValue})
		h.mask |= maskOf(name)
		return
	}
	f := &h.fields[i]
	f.value, f.flags = v, f.flags&^hop|ownValue
	for i = h.find(name, i+1); i >= 0; i = h.find(name, i+1) {
		h.fields[i].flags |= gone
	}
}

// add adds a line.
func (h *head) add(name string, value []byte) {
	if len(name) == 0 {
		return
	}
	n, v := keep(h, name), keep(h, value)
	h.fields = append(h.fields, field{name: n, value: v, known: identify(h.own[n.from:n.to]), flags: ownName | ownValue | beside})
	h.mask |= maskOf(name)
}

func (h *head) del(name string) {
	for i := h.find(name, 0); i >= 0; i = h.find(name, i+1) {
		h.fields[i].flags |= gone
	}
}

// delAlike leaves what frames the message, which names that differ from it may look like.
func (h *head) delAlike(name string) {
	for i := range h.fields {
		if f := &h.fields[i]; f.known == other && f.flags&gone == 0 && alike(h.nameOf(f), name) {
			f.flags |= gone
		}
	}
}

// alike takes all bytes that are no letter or digit for the same.
func alike(a []byte, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i, c := range a {
		if fold(c) != fold(b[i]) && (alphanumeric(c) || alphanumeric(b[i])) {
			return false
		}
	}
	return true
}

// keep copies text into own, control characters as spaces: nothing that is set can end its line.
func keep[T []byte | string](h *head, text T) span {
	from := len(h.own)
	h.own = append(h.own, text...)
	for i := from; i < len(h.own); i++ {
		if isControl(h.own[i]) {
			h.own[i] = ' '
		}
	}
	return span{uint32(from), uint32(len(h.own))}
}

// appendTo appends the lines that go on: in runs, as they came, where nothing was edited.
func (h *head) appendTo(dst []byte) []byte {
	var run span
	for i := range h.fields {
		f := &h.fields[i]
		if f.flags == 0 {
			if run.to == 0 {
				run.from = f.name.from
			}
			run.to = f.end
			continue
		}
		dst = append(dst, h.raw[run.from:run.to]...)
		run = span{}
		if f.flags&(gone|hop) == 0 {
			dst = appendLine(dst, h.nameOf(f), h.valueOf(f))
		}
	}
	return append(dst, h.raw[run.from:run.to]...)
}

// forProxy says whether the head goes to the proxy that it was meant for, which gets its credentials
// (RFC 9110 section 11.7.2).
func (h *head) forProxy(yes bool) {
	for i := range h.fields {
		if f := &h.fields[i]; f.known == kProxyAuthorization {
			f.flags |= hop
			if yes {
				f.flags &^= hop
			}
		}
	}
}

func appendLine[T []byte | string](dst []byte, name, value T) []byte {
	dst = append(dst, name...)
	dst = append(dst, ": "...)
	dst = append(dst, value...)
	return append(dst, "\r\n"...)
}
