package policy

// Base is the reserved tag of what carries no other: the normal version, the
// normal request.
const Base = "base"

// Gray is the tag that `true` and `1` mean on the wire.
const Gray = "gray"

// maxTag is the longest tag in bytes: that of a DNS label (RFC 1123).
const maxTag = 63

// ValidTag tells whether tag is a DNS label (RFC 1123): 1 to 63 lower-case
// letters, digits and '-', neither starting nor ending with '-'; and none of the
// words that mean another tag in the tag header. It does not allocate.
func ValidTag[T string | []byte](tag T) bool {
	_, word := headerWord(tag)
	return isLabel(tag) && !word
}

func isLabel[T string | []byte](tag T) bool {
	if len(tag) == 0 || len(tag) > maxTag || tag[0] == '-' || tag[len(tag)-1] == '-' {
		return false
	}
	for i := range len(tag) {
		c := tag[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return true
}

// headerWord gives the tag that a word means in the tag header under every
// policy: a caller may say `true` or `1` for gray and `false` or `0` for base.
func headerWord[T string | []byte](word T) (tag string, ok bool) {
	switch string(word) {
	case "true", "1":
		return Gray, true
	case "false", "0":
		return Base, true
	}
	return "", false
}
