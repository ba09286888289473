package http2

import (
	"encoding/binary"
	"testing"
)

// FuzzHeads has what a caller says come in pieces. Whether it is in the middle of a head does not depend on where they are
// cut, and is what a reader of whole frames would say.
func FuzzHeads(f *testing.F) {
	f.Add(join(greeted, begun(1), continued(1, true), whole(3, false)), []byte{1, 7, 30})
	f.Add(join(greeted, begun(1), continued(1, false)), []byte{2})
	f.Add(join(greeted, whole(1, true), whole(3, true)[:4]), []byte{})
	f.Add(join(greeted, spoken(func(r *raw) { _ = r.WriteData(1, true, make([]byte, 40)) })[:30]), []byte{9, 1})
	f.Fuzz(func(t *testing.T, said, cuts []byte) {
		at := frames{left: len(preface)}
		for rest, i := said, 0; len(rest) > 0; i++ {
			piece := rest
			if len(cuts) > 0 {
				piece = rest[:min(len(rest), 1+int(cuts[i%len(cuts)]))]
			}
			rest = rest[len(piece):]
			for len(piece) > 0 {
				n := at.take(piece)
				if n < 1 || n > len(piece) {
					t.Fatalf("%d of %d bytes were taken", n, len(piece))
				}
				piece = piece[n:]
			}
			sofar := said[:len(said)-len(rest)]
			if got, want := at.inHead(), endsInHead(sofar); got != want {
				t.Fatalf("after %q, in pieces of %v: in a head: got %v, want %v", sofar, cuts, got, want)
			}
		}
	})
}

// endsInHead tells whether what was said stops where the rest of a head may be to come.
func endsInHead(said []byte) bool {
	open := false
	for said = said[min(len(said), len(preface)):]; len(said) > 0; {
		if len(said) < frameHead {
			return true
		}
		length := int(binary.BigEndian.Uint32(said) >> 8)
		ofHead := said[3] == kindHeaders || said[3] == kindContinuation
		if ofHead {
			open = said[4]&flagEndHeaders == 0
		}
		if said = said[frameHead:]; len(said) < length {
			return open || ofHead
		}
		said = said[length:]
	}
	return open
}
