package propagate

const hexDigits = "0123456789abcdef"

// traceID is a hexadecimal trace id of up to 128 bits; hi is zero for one of 64.
type traceID struct{ hi, lo uint64 }

func (id traceID) zero() bool { return id.hi == 0 && id.lo == 0 }

// parseTraceID reads 1 to 32 hexadecimal digits, in either case. Zero is no id.
func parseTraceID(b []byte) (traceID, bool) {
	if len(b) <= 16 {
		lo, ok := parseHex(b)
		return traceID{lo: lo}, ok && lo != 0
	}
	hi, hiOK := parseHex(b[:len(b)-16])
	lo, loOK := parseHex(b[len(b)-16:])
	id := traceID{hi: hi, lo: lo}
	return id, hiOK && loOK && !id.zero()
}

// parseHex reads 1 to 16 hexadecimal digits, in either case.
func parseHex(b []byte) (uint64, bool) {
	if len(b) == 0 || len(b) > 16 {
		return 0, false
	}
	var v uint64
	for _, c := range b {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		v = v<<4 | uint64(c)
	}
	return v, true
}

// hasUpper reports whether b holds an upper-case letter.
func hasUpper(b []byte) bool {
	for _, c := range b {
		if 'A' <= c && c <= 'Z' {
			return true
		}
	}
	return false
}

// appendHex appends v as 16 lower-case digits.
func appendHex(dst []byte, v uint64) []byte {
	for shift := 60; shift >= 0; shift -= 4 {
		dst = append(dst, hexDigits[v>>shift&0xf])
	}
	return dst
}

// appendTraceID appends id as 32 digits, as W3C, X-Ray and SkyWalking want it.
func appendTraceID(dst []byte, id traceID) []byte {
	return appendHex(appendHex(dst, id.hi), id.lo)
}

// appendShortTraceID appends id as 16 digits where they suffice: B3 and Jaeger know 64-bit ids, and
// an app that cannot read longer ones sent such an id.
func appendShortTraceID(dst []byte, id traceID) []byte {
	if id.hi == 0 {
		return appendHex(dst, id.lo)
	}
	return appendTraceID(dst, id)
}

// parseDecimal reads a decimal number of 64 bits, digits only.
func parseDecimal(b []byte) (uint64, bool) {
	const most = 1<<64 - 1
	if len(b) == 0 || len(b) > len("18446744073709551615") {
		return 0, false
	}
	var v uint64
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		d := uint64(c - '0')
		if v > (most-d)/10 {
			return 0, false
		}
		v = v*10 + d
	}
	return v, true
}
