//go:build !race

// The race detector makes sync.Pool drop what it holds at random, so that claims about allocations
// hold without it only.

package propagate

import (
	"runtime/debug"
	"testing"
	"time"
)

// policy stands for the caller's interning method, passed as a method value.
type policy struct{ seen int }

func (p *policy) Intern(tag []byte) (string, bool) {
	p.seen++
	return intern(tag)
}

func TestNothingAllocates(t *testing.T) {
	// A collection empties the pool.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))

	c := carrier(t, Config{Make: KnownTraceHeaders()})
	p := new(policy)
	h := parse(usual + "baggage: a=1,b=2\ntracestate: r=1,s=2\n")
	w := Wire{Header: "X-Gray", Accept: []string{"x-mse-tag"}, Values: map[string]string{"gray": "yes"}, Words: map[string]string{"yes": "gray"}}
	ids, made := new(IDs), new(IDs)
	l := NewLedger(10, time.Minute)
	c.IDs(h, made)
	c.Make(h, made)
	full := parse(h.String() + "sw8: " + sw8("a.b.c") + "\nx-mse-tag: gray\n")
	names := KnownTraceHeaders()
	now := start
	n := 0

	tests := []struct {
		name string
		f    func()
	}{
		{"IDs", func() { c.IDs(full, ids) }},
		{"Learn", func() { c.Learn(made) }},
		{"Make", func() {
			for _, name := range names {
				h.Del(name)
			}
			c.IDs(h, ids)
			c.Make(h, ids)
		}},
		{"Write", func() { c.Write(h, &w, "gray"); c.Write(h, &w, "base") }},
		{"Write what is there", func() { c.Write(h, &w, "base") }},
		{"Strip", func() { c.Write(h, &w, "gray"); c.Strip(h, &w) }},
		{"Read the header", func() { c.Read(full, &w, p.Intern) }},
		{"Read baggage", func() {
			h.Del("X-Gray")
			h.Set("baggage", []byte("a=1,x-gray=%67ray"))
			c.Read(h, &xGray, p.Intern)
		}},
		{"Read tracestate", func() {
			h.Del("baggage")
			h.Set("tracestate", []byte("a=1,graylane=gray"))
			c.Read(h, &xGray, p.Intern)
		}},
		{"Ledger.Put of new ids", func() {
			n++
			ids.reset(1<<formatCount - 1)
			ids.add(traceparent, origin{trace: traceID{hi: 1, lo: uint64(n)}})
			l.Put(now, ids, "gray")
		}},
		{"Ledger.Put of differing tags", func() { l.Put(now, made, "gray"); l.Put(now, made, "blue") }},
		{"Ledger.Get", func() { l.Get(now, ids); l.Get(now, made) }},
		{"Ledger.Put after the others expired", func() {
			now = now.Add(time.Hour)
			l.Put(now, ids, "gray")
		}},
	}
	for _, tt := range tests {
		for range 100 { // until everything has the room it needs
			tt.f()
		}
		if got := testing.AllocsPerRun(200, tt.f); got != 0 {
			t.Errorf("%s: got %v allocations, want 0", tt.name, got)
		}
	}
	if p.seen == 0 {
		t.Error("no tag was read")
	}
}

// A Wire is made for each request from the policy in force; it must stay on the stack.
func TestAWireAllocatesNothing(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	c := carrier(t, Config{})
	h := parse(usual)
	name := "X-Gray"
	f := func() {
		w := Wire{Header: name}
		c.Write(h, &w, "gray")
		c.Read(h, &w, intern)
		c.Strip(h, &w)
	}
	f()
	if got := testing.AllocsPerRun(200, f); got != 0 {
		t.Errorf("got %v allocations, want 0", got)
	}
}
