package http1

import "sync"

const (
	small = 8 << 10  // holds nearly every head with a body of a few KB
	large = 32 << 10 // body bytes per read; with the head's buffer a stream stays below 64 KiB
)

// buffers lends byte buffers, so that idle connections hold none.
type buffers struct{ small, large sync.Pool }

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
	case small:
		b.small.Put((*[small]byte)(p[:small]))
	case large:
		b.large.Put((*[large]byte)(p[:large]))
	}
}
