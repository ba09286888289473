package http1

import "errors"

var (
	errStatusLine = errors.New("bad status line")
	errReplyHead  = errors.New("head is too large")
	errInterim    = errors.New("too many interim replies")
	errSwitch     = errors.New("protocol switched that nobody asked to")
)

// reply is the head of a reply of an origin.
type reply struct {
	head   head
	status int
	minor  byte
	reason span // with the space before it
	exact  bool // plain enough that any parser must agree with ours

	framing   framing
	length    int64
	keepAlive bool
	leaving   bool  // the sidecar that answers is about to end
	fate      fate  // of the request, by a sidecar whose app did not answer
	patience  int64 // seconds for which the origin says it keeps the connection; 0: it does not say
}

func (p *reply) reset() {
	h := p.head
	h.reset()
	*p = reply{head: h}
}

// scan is Request.scan for a reply. Folded lines are joined.
func (p *reply) scan(b []byte) (int, error) {
	h := &p.head
	if h.at == 0 {
		end, err := nextLine(b, 0, h.seen)
		if err != nil {
			h.seen = max(0, len(b)-1)
			return 0, err
		}
		h.raw = b
		if err := p.statusLine(b[:end]); err != nil {
			return 0, err
		}
		h.at, h.seen = end+2, end+2
	}
	return h.scanFields(b, true)
}

// statusLine reads "HTTP/1.1 200 OK"; the reason and the space before it may be missing.
func (p *reply) statusLine(line []byte) error {
	const code = len("HTTP/1.1 ")
	if len(line) < code+3 || string(line[:7]) != "HTTP/1." || !digit(line[7]) || line[8] != ' ' {
		return errStatusLine
	}
	for _, c := range line[code : code+3] {
		if !digit(c) {
			return errStatusLine
		}
		p.status = p.status*10 + int(c-'0')
	}
	if p.status < 100 || len(line) > code+3 && line[code+3] != ' ' {
		return errStatusLine
	}
	p.exact = line[7] <= '1'
	p.minor = min(line[7]-'0', 1)
	p.reason = span{uint32(code + 3), uint32(len(line))}
	return nil
}

// interim says that another reply follows this one.
func (p *reply) interim() bool { return p.status < 200 && p.status != 101 }

// inspect reads what the scanned head says about the message and the connection, and marks what
// goes no further. The request's method decides how a reply ends.
func (p *reply) inspect(r *Request) error {
	f, err := p.head.readFraming()
	if err != nil {
		return err
	}
	if err := p.readBody(&f, string(r.Method()) == "HEAD"); err != nil {
		return err
	}
	o, err := p.head.readOptions(nil)
	if err != nil {
		return err
	}
	p.leaving = o.leaving
	if p.status >= 500 {
		p.fate = o.fate
	}
	p.keepAlive = !o.close && (p.minor == 1 || o.keepAlive) && p.framing != byClose && !f.odd && f.lengths <= 1
	lengths := 0
	for i := range p.head.fields {
		l := &p.head.fields[i]
		switch l.known {
		case kKeepAlive:
			p.patience = timeoutOf(p.head.valueOf(l))
			l.flags |= hop
		case kConnection, kProxyConnection:
			l.flags |= hop
		case kTrailer: // a list of names: fasthttp refuses some that are harmless as long as none comes
			p.exact = false
		case kUpgrade:
			if p.status != 101 && p.status != 426 {
				l.flags |= hop
			}
		case kContentLength:
			if lengths++; lengths > 1 || p.bodyless() && f.length > 0 {
				l.flags |= hop
			}
		case kTransferEncoding:
			if p.bodyless() || !f.chunked {
				l.flags |= hop
			}
		}
	}
	return nil
}

// bodyless is about statuses that say nothing about the length of anything.
func (p *reply) bodyless() bool { return p.status < 200 || p.status == 204 }

// readBody applies RFC 9112 section 6.3.
func (p *reply) readBody(f *framings, head bool) error {
	p.exact = p.exact && !f.odd && f.lengths <= 1 && (!f.coded || f.plain)
	switch {
	case f.coded && f.lengths > 0:
		return errBoth
	case f.coded && p.minor == 0:
		return errOldCoding
	case f.coded && !f.chunked && !f.identity:
		return errCoding
	case head, p.bodyless(), p.status == 304:
		p.framing = noBody
	case f.chunked:
		p.framing = byChunks
	case f.lengths > 0:
		p.framing, p.length = byLength, f.length
	case p.status == 205: // RFC 9110 section 15.3.6: never has content
		p.framing = noBody
	default:
		p.framing = byClose
	}
	return nil
}

// timeoutOf reads "timeout=5, max=100".
func timeoutOf(v []byte) int64 {
	const name = "timeout="
	for len(v) > 0 {
		var item []byte
		item, v = nextItem(v)
		if len(item) > len(name) && equalFold(item[:len(name)], name) {
			if n, ok := decimal(item[len(name):]); ok {
				return n
			}
		}
	}
	return 0
}
