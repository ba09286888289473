package http1

import "sync"

const (
	tiny  = 2 << 10  // holds what mostly has come of a head that the caller does not finish
	small = 8 << 10  // holds nearly every head with a body of a few KB
	large = 32 << 10 // body bytes per read; with the head's buffer a stream stays below 64 KiB
)

// buffers lends byte buffers, so that idle connections hold none.
type buffers struct{ tiny, small, large sync.Pool }

// getTiny lends a buffer of tiny bytes, which get does not: heads and short bodies go out together
// where there is room for both.
func (b *buffers) getTiny() []byte {
	if p, ok := b.tiny.Get().(*[tiny]byte); ok {
		return p[:]
	}
	return new([tiny]byte)[:]
}

// get lends a buffer of n bytes or more.
func (b *buffers) get(n int) []byte {
	switch {
	case n <= small:
		if p, ok := b.small.Get().(*[small]byte); ok {
			return p[:]
		}
		return new([small]byte)[:]
	case n <= large:
		if p, ok := b.large.Get().(*[large]byte); ok {
			return p[:]
		}
		return new([large]byte)[:]
	}
	return make([]byte, n)
}

// put takes a buffer back; nobody may hold on to it. nil and odd sizes are fine.
func (b *buffers) put(p []byte) {
	switch cap(p) {
	case tiny:
		b.tiny.Put((*[tiny]byte)(p[:tiny]))
	case small:
		b.small.Put((*[small]byte)(p[:small]))
	case large:
		b.large.Put((*[large]byte)(p[:large]))
	}
}
