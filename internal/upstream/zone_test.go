package upstream

import (
	"strconv"
	"testing"
)

func TestZoneFirst(t *testing.T) {
	for _, kind := range []Kind{RoundRobin, Random, LeastRequest, ResponseTime, Burst, Hash} {
		t.Run(kind.String(), func(t *testing.T) {
			r := newRig()
			r.Zone = "z1"
			v := Version{Service: "users", Tag: "gray", Balance: Balance{Kind: kind, NearShare: 0.5}}
			for i := range 8 {
				v.Targets = append(v.Targets, Target{Address: strconv.Itoa(i) + ":1", Weight: 1, Zone: "z" + strconv.Itoa(1+i/4)})
			}
			g := r.put(v)[0]
			far := func() (n int) {
				for address, got := range r.count(g, 800, well) {
					if address[0] >= '4' {
						n += got
					}
				}
				return n
			}
			if n := far(); n != 0 {
				t.Errorf("with all of my zone usable %d of 800 left it", n)
			}
			r.fail(t, g, "0:1")
			r.fail(t, g, "1:1")
			if n := far(); n != 0 {
				t.Errorf("with half of my zone usable %d of 800 left it", n)
			}
			r.fail(t, g, "2:1")
			if n := far(); n < 500 {
				t.Errorf("with a quarter of my zone usable %d of 800 left it, want about 640", n)
			}
		})
	}
}

func TestOtherZonesAreTriedLast(t *testing.T) {
	for kind := range Kind(len(kindNames)) {
		r := newRig()
		r.Zone = "z1"
		v := users("base", "a:1", "b:1", "c:1")
		v.Balance = Balance{Kind: kind, Size: 1, NearShare: 0.5}
		v.Targets[0].Zone, v.Targets[2].Zone = "z1", "z1"
		g := r.put(v)[0]
		for range 10 {
			if got := r.walk(g); len(got) != 3 || got[2] != "b:1" {
				t.Errorf("%s: tried %v, want b:1 of another zone last", kind, got)
			}
		}
	}
}

func TestZonesDoNotMatter(t *testing.T) {
	for _, c := range []struct {
		name  string
		share float64
		zone  string // of one of two endpoints
	}{
		{"without zoneFirst", 0, "z1"},
		{"where ours has no endpoint", 0.5, "z2"},
	} {
		r := newRig()
		r.Zone = "z1"
		v := users("base", "a:1", "b:1")
		v.Balance.NearShare, v.Targets[0].Zone = c.share, c.zone
		if got := r.count(r.put(v)[0], 100, well); got["a:1"] != 50 || got["b:1"] != 50 {
			t.Errorf("%s: got %v, want 50 each", c.name, got)
		}
	}
}

func TestZoneFirstPrefersNobodySick(t *testing.T) {
	for _, kind := range []Kind{RoundRobin, Random, LeastRequest, ResponseTime, Burst, Hash} {
		t.Run(kind.String(), func(t *testing.T) {
			r := newRig()
			r.Zone = "z1"
			v := users("base", "a:1", "b:1", "c:1")
			v.Balance = Balance{Kind: kind, NearShare: 0.5}
			v.Targets[0].Zone, v.Targets[1].Zone, v.Targets[2].Zone = "z1", "z1", "z2"
			g := r.put(v)[0]
			r.fail(t, g, "a:1")
			r.fail(t, g, "b:1") // kept, or more than half were out
			if got := r.count(g, 300, func(string) any { return 404 }); got["c:1"] < 100 {
				t.Errorf("with all of my zone sick: got %v, want c:1 to have its part", got)
			}
			r.fail(t, g, "c:1")
			if got := r.count(g, 300, func(string) any { return errGone }); len(got) != 3 {
				t.Errorf("with all of base sick: got %v, want all of it to be used", got)
			}
		})
	}
}
