package http1

import (
	"net/netip"
	"testing"
	"time"
)

func TestTheTimeInWhichAProcessStandsStillIsNotCounted(t *testing.T) {
	_, far := connected(t)
	s := NewServer(Config{}, nil)
	k, err := newCaller(s, far, netip.AddrPort{})
	if err != nil {
		t.Fatal(err)
	}
	defer k.wire.close()
	w := &s.watch
	w.running, w.last = true, monotonic() // by this test
	w.add(k)
	const limit = time.Second
	// looks says after how many ticks the guard has cut.
	looks := func(apart time.Duration) (n int) {
		k.guard.resume()
		k.guard.within(limit)
		for k.guard.why() == uncut && n < 100 {
			w.last -= int64(apart)
			w.look()
			n++
		}
		return n
	}
	const least = int(limit/(2*tick)) + 1
	if got := looks(time.Minute); got < least {
		t.Errorf("cut at tick %d, a minute after the one before, want %d at least", got, least)
	}
	if got, most := looks(tick), int((limit+2*tick)/tick)+1; got < least || got > most {
		t.Errorf("cut at tick %d, want %d at most", got, most)
	}
}
