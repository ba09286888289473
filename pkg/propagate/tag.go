package propagate

const maxTag = 63 // bytes, of a DNS label

// validTag reports whether tag is a DNS label: 1 to 63 lower-case letters, digits and dashes, with no
// dash at either end (RFC 1123, section 2.1).
func validTag[T string | []byte](tag T) bool {
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

// headerTag returns the tag that a value of the tag header means, "" for none. Shared strings come
// from intern, which need not know the tag.
func (w *Wire) headerTag(value []byte, intern func([]byte) (string, bool)) string {
	if tag, ok := w.Words[string(value)]; ok {
		return tag
	}
	return sharedTag(value, intern)
}

// memberTag returns the tag that a member of baggage or tracestate has, "" for none.
func (w *Wire) memberTag(value []byte, intern func([]byte) (string, bool)) string {
	if _, word := w.Words[string(value)]; word {
		return ""
	}
	return sharedTag(value, intern)
}

func sharedTag(value []byte, intern func([]byte) (string, bool)) string {
	if !validTag(value) {
		return ""
	}
	if tag, ok := intern(value); ok {
		return tag
	}
	return string(value)
}

// consensus is what several places that should say the same tag say together. What is no tag does
// not count; where tags differ, none is believed, since the wrong one may be gray.
type consensus struct {
	tag   string
	split bool
}

func (c *consensus) add(tag string) {
	switch {
	case tag == "" || tag == c.tag:
	case c.tag == "":
		c.tag = tag
	default:
		c.split = true
	}
}

func (c *consensus) answer() (string, bool) {
	return c.tag, c.tag != "" && !c.split
}
