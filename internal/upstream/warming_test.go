package upstream

import (
	"testing"
	"time"
)

func TestWhoComesBackIsWarmedUp(t *testing.T) {
	for _, kind := range []Kind{RoundRobin, Random, LeastRequest, ResponseTime, Burst} {
		t.Run(kind.String(), func(t *testing.T) {
			r := newRig()
			v := users("base", "a:1", "b:1")
			v.Balance.Kind = kind
			g := r.put(v)[0]
			r.fail(t, g, "a:1")
			r.pass(r.breaking.out)
			if got := r.ask(g, well); got != "a:1" {
				t.Fatalf("the trial went to %s, want a:1", got)
			}
			for _, c := range []struct {
				after       time.Duration
				least, most int // of 1000
			}{{0, 20, 80}, {15 * time.Second, 200, 300}, {30 * time.Second, 400, 600}} {
				clock := r.clock
				r.pass(c.after)
				if got := r.count(g, 1000, well)["a:1"]; got < c.least || got > c.most {
					t.Errorf("%v after its return a:1 got %d of 1000, want %d to %d", c.after, got, c.least, c.most)
				}
				r.clock = clock
			}
		})
	}
}

func TestWhatWhoWarmsUpLeavesIsSpread(t *testing.T) {
	for _, kind := range []Kind{RoundRobin, Random, LeastRequest, ResponseTime, Burst} {
		t.Run(kind.String(), func(t *testing.T) {
			r := newRig()
			v := users("base", "a:1", "b:1", "c:1", "d:1", "e:1")
			v.Balance.Kind = kind
			g := r.put(v)[0]
			for _, address := range []string{"b:1", "c:1"} {
				r.endpoint(t, g, address).warming.Store(&warming{from: r.clock})
			}
			got := r.count(g, 5000, well)
			if diff := got["b:1"] + got["c:1"]; diff < 150 || diff > 300 {
				t.Errorf("got %v, want about 200 at b:1 and c:1", got)
			}
			for _, address := range []string{"a:1", "d:1", "e:1"} {
				if got[address] < 1450 || got[address] > 1750 {
					t.Errorf("got %v, want about 1600 at %s", got, address)
				}
			}
		})
	}
}
