package upstream

import (
	"strconv"
	"testing"
	"time"
)

// BenchmarkPick is one request's part of this package, without the sending: Pick,
// Next and End, from all cores at once.
func BenchmarkPick(b *testing.B) {
	for _, kind := range []Kind{RoundRobin, Random, LeastRequest, ResponseTime, Burst, Hash} {
		for _, n := range []int{3, 1000} {
			b.Run(kind.String()+"/"+strconv.Itoa(n), func(b *testing.B) {
				table := newRig().Table
				table.rand = NewTable(table.cfg).rand
				v := users("base", addressesOf(n)...)
				for i := range v.Targets {
					v.Targets[i].Weight = 1 + i%3
				}
				v.Balance.Kind = kind
				next := table.Begin()
				g := next.Group(v)
				next.Commit()
				b.ReportAllocs()
				b.ResetTimer()
				b.RunParallel(func(pb *testing.PB) {
					now := time.Now()
					for key := uint64(0); pb.Next(); key++ {
						now = now.Add(10 * time.Microsecond) // 100,000 requests a second on each core
						pick := g.Pick(key * odd)
						pick.Next(now)
						pick.End(Result{Now: now, Status: 200, Waited: time.Millisecond})
					}
				})
			})
		}
	}
}

// BenchmarkRefresh is what it costs when one of many endpoints falls sick.
func BenchmarkRefresh(b *testing.B) {
	r := newRig()
	v := users("base", addressesOf(1000)...)
	for i := range v.Targets {
		v.Targets[i].Weight = 1 + i%3
	}
	g := r.put(v)[0]
	for b.Loop() {
		g.roster.refresh()
	}
}
