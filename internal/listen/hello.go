package listen

import "encoding/binary"

const (
	recordHandshake = 0x16 // type of a TLS record (RFC 8446, 5.1)
	clientHello     = 0x01 // type of a handshake message (RFC 8446, 4)
	recordHead      = 5    // type, version, length
	maxRecord       = 1 << 14
	maxHello        = 1 << 15 // far above any that is sent, post-quantum keys and ECH included
)

// classifyTLS looks at the head of the first record and the type of the message
// in it: SSL 3.0 to TLS 1.3, whose record says 3.1 or 3.3.
func classifyTLS(p []byte) Protocol {
	switch {
	case len(p) > 1 && p[1] != 3, len(p) > 2 && p[2] > 4:
		return TCP
	case len(p) > 5 && p[5] != clientHello:
		return TCP
	case len(p) < recordHead+1:
		return Unknown
	}
	if length := binary.BigEndian.Uint16(p[3:5]); length == 0 || length > maxRecord {
		return TCP
	}
	return TLS
}

// serverName gives the name that a ClientHello asks for (SNI, RFC 6066, 3), "" if
// it asks for none. p begins with the first record and may end anywhere: complete
// says that more bytes would not change the answer. The name is not checked.
func serverName(p []byte) (name string, complete bool) {
	hello, complete := helloBody(p)
	if hello == nil {
		return "", complete
	}
	r := reader(hello)
	r.skip(2 + 32)         // version, random
	r.skip(int(r.uint(1))) // session
	r.skip(int(r.uint(2))) // cipher suites
	r.skip(int(r.uint(1))) // compression
	extensions := reader(r.bytes(int(r.uint(2))))
	for len(extensions) > 0 {
		kind, data := extensions.uint(2), reader(extensions.bytes(int(extensions.uint(2))))
		if kind != 0 {
			continue
		}
		list := reader(data.bytes(int(data.uint(2))))
		if list.uint(1) != 0 { // host_name, the one type that there is
			return "", true
		}
		return string(list.bytes(int(list.uint(2)))), true
	}
	return "", true
}

// helloBody joins the records that the ClientHello is cut into and drops its
// head; nil if it is no such message, or not yet complete.
func helloBody(p []byte) (body []byte, complete bool) {
	var message []byte
	for {
		if len(p) < recordHead {
			return nil, false
		}
		length := int(binary.BigEndian.Uint16(p[3:5]))
		if p[0] != recordHandshake || length == 0 || length > maxRecord {
			return nil, true // the server will refuse it
		}
		fragment := p[recordHead:min(recordHead+length, len(p))]
		message = append(message, fragment...)
		if len(message) >= 4 {
			size := 4 + int(message[1])<<16 + int(message[2])<<8 + int(message[3])
			switch {
			case message[0] != clientHello || size > maxHello:
				return nil, true
			case len(message) >= size:
				return message[4:size], true
			}
		}
		if len(fragment) < length {
			return nil, false
		}
		p = p[recordHead+length:]
	}
}

// reader takes things off the front of a message. Past the end there is nothing
// but zeros.
type reader []byte

func (r *reader) bytes(n int) []byte {
	if n > len(*r) {
		*r = nil
		return nil
	}
	b := (*r)[:n]
	*r = (*r)[n:]
	return b
}

func (r *reader) skip(n int) { r.bytes(n) }

func (r *reader) uint(size int) (n uint) {
	for _, b := range r.bytes(size) {
		n = n<<8 | uint(b)
	}
	return n
}
