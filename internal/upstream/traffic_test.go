package upstream

import (
	"testing"
	"unsafe"
)

func TestLoad(t *testing.T) {
	var l load
	for i, step := range []struct {
		name               string
		do                 func() uint64
		want               uint64
		inFlight, requests int
	}{
		{"the first begins", func() uint64 { return uint64(l.begin(0)) }, 1, 1, 1},
		{"a second, with room for two", func() uint64 { return uint64(l.begin(2)) }, 2, 2, 2},
		{"no third", func() uint64 { return uint64(l.begin(2)) }, 0, 2, 2},
		{"one ends", l.end, 1, 1, 2},
		{"another takes its place", func() uint64 { return uint64(l.begin(2)) }, 2, 2, 3},
		{"which is taken back", func() uint64 { l.undo(); return 0 }, 0, 1, 2},
		{"the last ends", l.end, 2, 0, 2},
	} {
		if got := step.do(); got != step.want {
			t.Errorf("step %d, %s: got %d, want %d", i, step.name, got, step.want)
		}
		if got := int(l.inFlight()); got != step.inFlight {
			t.Errorf("step %d, %s: got %d under way, want %d", i, step.name, got, step.inFlight)
		}
		if got := int(l.requests()); got != step.requests {
			t.Errorf("step %d, %s: got %d requests, want %d", i, step.name, got, step.requests)
		}
	}
}

func TestWhatCoresWriteIsAlignedToCacheLines(t *testing.T) {
	r := newRig()
	g := r.put(users("base", addressesOf(20)...))[0]
	for _, m := range g.view.Load().order {
		if at := uintptr(unsafe.Pointer(&m.traffic)); at%cacheLine != 0 {
			t.Errorf("the traffic of an endpoint begins %d bytes into a cache line: pad Endpoint, of %d bytes, to a multiple of %d",
				at%cacheLine, unsafe.Sizeof(*m.Endpoint), cacheLine)
			break
		}
	}
	if size := unsafe.Sizeof(traffic{}); size != cacheLine {
		t.Errorf("the traffic of an endpoint takes %d bytes, want %d", size, cacheLine)
	}
	for _, n := range []*shared{g.roster.round, g.roster.crowd, g.roster.burst} {
		if at := uintptr(unsafe.Pointer(n)); at%unsafe.Sizeof(*n) != 0 {
			t.Errorf("a shared number is at %x, want a multiple of %d", at, unsafe.Sizeof(*n))
		}
	}
}
