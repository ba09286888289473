package metrics_test

import (
	"testing"
	"time"

	"graylane/internal/metrics"
)

func BenchmarkRequest(b *testing.B) {
	m := metrics.New("v1")
	b.ReportAllocs()
	for b.Loop() {
		m.Request(metrics.Outbound, "users", "gray", "matched", 200, time.Millisecond)
	}
}

func BenchmarkRequestOnAllCores(b *testing.B) {
	m := metrics.New("v1")
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			m.Request(metrics.Outbound, "users", "gray", "matched", 200, time.Millisecond)
		}
	})
}
