package propagate

// maxOpaque bounds an id that is any text: the longest in use are under 200 bytes, and each is hashed
// on every hop.
const maxOpaque = 1024

// readRequestID takes any text: there is no standard.
func readRequestID(_ *IDs, _ Header, v []byte) (origin, bool) {
	return origin{opaque: v}, len(v) > 0 && len(v) <= maxOpaque
}

// writeRequestID writes o.trace as a random UUID (RFC 9562, section 5.4).
func writeRequestID(h Header, buf []byte, o origin) {
	const (
		version = 4 << 12
		variant = 2 << 62
	)
	var id [32]byte
	appendTraceID(id[:0], traceID{
		hi: o.trace.hi&^(0xf<<12) | version,
		lo: o.trace.lo&^(3<<62) | variant,
	})
	buf = append(append(buf, id[:8]...), '-')
	buf = append(append(buf, id[8:12]...), '-')
	buf = append(append(buf, id[12:16]...), '-')
	buf = append(append(buf, id[16:20]...), '-')
	buf = append(buf, id[20:]...)
	h.Set("X-Request-Id", buf)
}
