package tcp

import (
	"io"
	"net"
	"runtime"
	"testing"
)

// BenchmarkThroughput moves 1 GiB and compares it with no relay between.
func BenchmarkThroughput(b *testing.B) {
	const size = 1 << 30
	for _, c := range []struct {
		name string
		ends func(*testing.B) (caller, origin *net.TCPConn)
	}{
		{"direct", func(b *testing.B) (_, _ *net.TCPConn) { return connected(b) }},
		{"relay", func(b *testing.B) (_, _ *net.TCPConn) {
			pair := relay(b, &Relay{})
			return pair.caller, pair.origin
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(size)
			for b.Loop() {
				caller, origin := c.ends(b)
				go func() {
					block := make([]byte, 1<<20)
					for range size / len(block) {
						if _, err := caller.Write(block); err != nil {
							b.Error(err)
							return
						}
					}
					caller.Close()
				}()
				n, err := io.Copy(io.Discard, struct{ io.Reader }{origin})
				if err != nil || n != size {
					b.Fatalf("read %d bytes, %v", n, err)
				}
				origin.Close()
			}
		})
	}
}

// BenchmarkRoundTrip sends one byte there and one back.
func BenchmarkRoundTrip(b *testing.B) {
	pair := relay(b, &Relay{})
	var one [1]byte
	for b.Loop() {
		for _, step := range []func([]byte) (int, error){pair.caller.Write, pair.origin.Read, pair.origin.Write, pair.caller.Read} {
			if _, err := step(one[:]); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// BenchmarkIdlePair tells what an idle pair takes of this process, its two
// connections included.
func BenchmarkIdlePair(b *testing.B) {
	const pairs = 1000
	used := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapInuse + m.StackInuse
	}
	for b.Loop() {
		var r Relay
		before := used()
		for range pairs {
			pair := relay(b, &r)
			// Its stacks have grown once it has moved something.
			for _, step := range []func([]byte) (int, error){pair.caller.Write, pair.origin.Read, pair.origin.Write, pair.caller.Read} {
				if _, err := step(make([]byte, 1)); err != nil {
					b.Fatal(err)
				}
			}
		}
		b.ReportMetric(float64(used()-before)/pairs, "B/pair")
		r.Close()
	}
}
