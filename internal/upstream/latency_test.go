package upstream

import (
	"testing"
	"time"
)

func TestLatencyIsADecayingAverage(t *testing.T) {
	const ms = time.Millisecond
	type measured struct {
		at   float64
		took time.Duration
	}
	for _, c := range []struct {
		name        string
		measured    []measured
		least, most time.Duration
	}{
		{"nothing measured", nil, 0, 0},
		{"the first counts whole", []measured{{0, 10 * ms}}, 10 * ms, 10 * ms},
		{"one among many of the same time counts little", []measured{{0, 10 * ms}, {0.001, 500 * ms}}, 10 * ms, 11 * ms},
		{"after a pause the next one counts nearly whole", []measured{{0, 500 * ms}, {30, 10 * ms}}, 10 * ms, 12 * ms},
		{"after five seconds the old counts a third", []measured{{0, 100 * ms}, {5, 0}}, 36 * ms, 37 * ms},
		{"of one millisecond the first counts", []measured{{0, 10 * ms}, {9, 20 * ms}, {9.0005, 500 * ms}}, 18 * ms, 19 * ms},
		{"one that comes late does not", []measured{{9, 10 * ms}, {8, 500 * ms}}, 10 * ms, 10 * ms},
		{"after a month the next one counts whole", []measured{{0, 500 * ms}, {30 * 86400, 10 * ms}}, 10 * ms, 10 * ms},
	} {
		var l latency
		for _, m := range c.measured {
			l.add(at(m.at), m.took)
		}
		if got := time.Duration(l.get()); got < c.least || got > c.most {
			t.Errorf("%s: got %v, want %v to %v", c.name, got, c.least, c.most)
		}
	}
}
