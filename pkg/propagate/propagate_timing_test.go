package propagate

import (
	"sync/atomic"
	"testing"
	"time"
)

func BenchmarkIDs(b *testing.B) {
	c := carrier(b, Config{})
	ids := new(IDs)
	for _, bm := range []struct{ name, head string }{
		{"none", usual},
		{"traceparent and X-Request-Id", usual + traceparentA + "X-Request-Id: 44444444-4444-4444-9555-555555555555\n"},
	} {
		b.Run(bm.name, func(b *testing.B) {
			h := parse(bm.head)
			b.ReportAllocs()
			for b.Loop() {
				c.IDs(h, ids)
			}
		})
	}
}

func BenchmarkMake(b *testing.B) {
	c := carrier(b, Config{})
	h, ids := parse(usual), new(IDs)
	b.ReportAllocs()
	for b.Loop() {
		h.Del("traceparent")
		h.Del("X-Request-Id")
		c.IDs(h, ids)
		c.Make(h, ids)
	}
}

func BenchmarkRead(b *testing.B) {
	c := carrier(b, Config{})
	for _, bm := range []struct{ name, head string }{
		{"nothing", usual},
		{"header", usual + "X-Gray: gray\n"},
		{"baggage", usual + "baggage: a=1,b=2,x-gray=gray\n"},
		{"tracestate", usual + traceparentA + "tracestate: a=1,graylane=gray\n"},
	} {
		b.Run(bm.name, func(b *testing.B) {
			h := parse(bm.head)
			b.ReportAllocs()
			for b.Loop() {
				c.Read(h, &xGray, intern)
			}
		})
	}
}

func BenchmarkWrite(b *testing.B) {
	c := carrier(b, Config{})
	b.Run("the same", func(b *testing.B) {
		h := parse(usual + "baggage: a=1\ntracestate: r=1\n")
		b.ReportAllocs()
		for b.Loop() {
			c.Write(h, &xGray, "gray")
		}
	})
	b.Run("another", func(b *testing.B) {
		h := parse(usual + "baggage: a=1\ntracestate: r=1\n")
		b.ReportAllocs()
		for b.Loop() {
			c.Write(h, &xGray, "gray")
			c.Write(h, &xGray, "base")
		}
	})
	b.Run("64 members", func(b *testing.B) {
		h := parse(usual)
		others := []byte(members64("k", 63))
		b.ReportAllocs()
		for b.Loop() {
			h.Set("baggage", others)
			c.Write(h, &xGray, "gray")
		}
	})
}

func BenchmarkLedger(b *testing.B) {
	b.Run("Put", func(b *testing.B) {
		l := NewLedger(100_000, 5*time.Minute)
		ids := new(IDs)
		n := uint64(0)
		b.ReportAllocs()
		for b.Loop() {
			n++
			ids.reset(1<<formatCount - 1)
			ids.add(traceparent, origin{trace: traceID{hi: n, lo: n * 0x9e3779b97f4a7c15}})
			l.Put(start, ids, "gray")
		}
	})
	b.Run("Get", func(b *testing.B) {
		l := NewLedger(100_000, 5*time.Minute)
		all := make([]*IDs, 1<<14)
		for i := range all {
			all[i] = request(i)
			l.Put(start, all[i], "gray")
		}
		b.ReportAllocs()
		i := 0
		for b.Loop() {
			l.Get(start, all[i&(len(all)-1)])
			i++
		}
	})
	b.Run("both on all cores", func(b *testing.B) {
		l := NewLedger(100_000, 5*time.Minute)
		var seed atomic.Uint64
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			ids := new(IDs)
			n := seed.Add(1) << 32
			for pb.Next() {
				n++
				ids.reset(1<<formatCount - 1)
				ids.add(traceparent, origin{trace: traceID{hi: n, lo: n * 0x9e3779b97f4a7c15}})
				l.Put(start, ids, "gray")
				l.Get(start, ids)
			}
		})
	})
}
