package propagate

import (
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"
	"unsafe"
)

// start is the time of the first put in tests.
var start = time.Unix(1_700_000_000, 50_000_000)

// request returns the ids of a request with a traceparent whose id is n.
func request(n int) *IDs {
	ids := new(IDs)
	ids.reset(1<<formatCount - 1)
	ids.add(traceparent, origin{trace: traceID{hi: uint64(n) + 1, lo: uint64(n) * 0x9e3779b97f4a7c15}})
	return ids
}

// single returns the ids of a request with one key.
func single(n int) *IDs {
	ids := new(IDs)
	ids.reset(1<<formatCount - 1)
	ids.add(b3Multi, origin{trace: traceID{lo: uint64(n) + 1}})
	return ids
}

// D01: a gray request A and a normal request B overlap, and call out up to 30 s after they ended.
func TestLedgerNeverSwapsOverlappingRequests(t *testing.T) {
	l := NewLedger(1000, 5*time.Minute)
	a, b, none, stranger := request(1), request(2), new(IDs), request(3)
	l.Put(start, a, "gray")
	l.Put(start.Add(time.Millisecond), b, "base")
	for _, later := range []time.Duration{2 * time.Millisecond, time.Second, 30 * time.Second} {
		now := start.Add(later)
		for _, tt := range []struct {
			name string
			ids  *IDs
			want string
		}{{"A", a, "gray"}, {"B", b, "base"}, {"no id", none, ""}, {"an id that never came in", stranger, ""}} {
			if got, ok := l.Get(now, tt.ids); got != tt.want || ok != (tt.want != "") {
				t.Errorf("after %v, %s: got %q, %v, want %q", later, tt.name, got, ok, tt.want)
			}
		}
	}
}

func TestLedgerForgetsAfterTTL(t *testing.T) {
	const ttl = time.Minute
	type put struct {
		at  time.Duration
		tag string
	}
	tests := []struct {
		name string
		puts []put
		at   time.Duration
		want string
	}{
		{"fresh", []put{{0, "gray"}}, 0, "gray"},
		{"just before", []put{{0, "gray"}}, ttl - time.Nanosecond, "gray"},
		{"at the ttl", []put{{0, "gray"}}, ttl, ""},
		{"long after", []put{{0, "gray"}}, 1000 * time.Hour, ""},
		{"put again", []put{{0, "gray"}, {40 * time.Second, "gray"}}, 90 * time.Second, "gray"},
		{"put again, and over", []put{{0, "gray"}, {40 * time.Second, "gray"}}, 101 * time.Second, ""},
		{"another tag after the first is over", []put{{0, "gray"}, {61 * time.Second, "base"}}, 62 * time.Second, "base"},
		{"the same after it is over", []put{{0, "gray"}, {61 * time.Second, "gray"}}, 62 * time.Second, "gray"},
		{"a clock that stands before the first put", []put{{0, "gray"}}, -time.Second, "gray"},

		{"two tags are ambiguous", []put{{0, "gray"}, {10 * time.Second, "base"}}, 11 * time.Second, ""},
		{"in the other order too", []put{{0, "base"}, {10 * time.Second, "gray"}}, 11 * time.Second, ""},
		{"until it expires", []put{{0, "gray"}, {10 * time.Second, "base"}}, 69 * time.Second, ""},
		{"and not longer", []put{{0, "gray"}, {10 * time.Second, "base"}, {71 * time.Second, "gray"}}, 72 * time.Second, "gray"},
		{"also if one goes on", []put{{0, "gray"}, {10 * time.Second, "base"}, {30 * time.Second, "base"}}, 69 * time.Second, ""},
		{"then that one answers", []put{{0, "gray"}, {10 * time.Second, "base"}, {30 * time.Second, "base"}}, 71 * time.Second, "base"},
		{"as long as they alternate", []put{{0, "gray"}, {30 * time.Second, "base"}, {60 * time.Second, "gray"}, {90 * time.Second, "base"}}, 149 * time.Second, ""},
		{"three tags", []put{{0, "gray"}, {1 * time.Second, "blue"}, {2 * time.Second, "base"}}, 3 * time.Second, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := NewLedger(10, ttl)
			ids := request(1)
			for _, p := range tt.puts {
				l.Put(start.Add(p.at), ids, p.tag)
			}
			if got, ok := l.Get(start.Add(tt.at), ids); got != tt.want || ok != (tt.want != "") {
				t.Errorf("got %q, %v, want %q", got, ok, tt.want)
			}
		})
	}
}

func TestLedgerKeepsTTLWithinATenthOfASecond(t *testing.T) {
	const ttl = time.Minute
	l := NewLedger(10, ttl)
	l.Put(start, request(0), "base")
	for i, at := range []time.Duration{1, 49 * time.Millisecond, 99 * time.Millisecond, 12345 * time.Microsecond} {
		put := start.Add(at)
		ids := request(i + 1)
		l.Put(put, ids, "gray")
		if _, ok := l.Get(put.Add(ttl-1), ids); !ok {
			t.Errorf("put at %v: gone too early", at)
		}
		if _, ok := l.Get(put.Add(ttl+100*time.Millisecond), ids); ok {
			t.Errorf("put at %v: there too long", at)
		}
	}
}

func TestLedgerCountsAConflictOnce(t *testing.T) {
	l := NewLedger(10, time.Minute)
	c := carrier(t, Config{})
	ids := idsOf(c, traceparentA+"X-Request-Id: r\n") // three keys
	at := func(s int) time.Time { return start.Add(time.Duration(s) * time.Second) }
	steps := []struct {
		at   int
		tag  string
		want uint64
	}{
		{0, "gray", 0}, {1, "gray", 0}, {2, "base", 1}, {3, "gray", 1}, {4, "blue", 1},
		{70, "blue", 1}, {71, "base", 2}, {200, "gray", 2},
	}
	for _, s := range steps {
		l.Put(at(s.at), ids, s.tag)
		if got := l.Conflicts(); got != s.want {
			t.Errorf("after %s at %d s: got %d, want %d", s.tag, s.at, got, s.want)
		}
	}
}

func TestAnAmbiguousIDLeavesItToTheNext(t *testing.T) {
	l := NewLedger(10, time.Minute)
	c := carrier(t, Config{})
	// An outside caller repeats the trace id of a gray user.
	user := idsOf(c, traceparentA+"X-Request-Id: user\n")
	caller := idsOf(c, traceparentA+"X-Request-Id: caller\n")
	l.Put(start, user, "gray")
	l.Put(start, caller, "base")
	for _, tt := range []struct{ head, want string }{
		{traceparentA, ""},
		{traceparentA + "X-Request-Id: user\n", "gray"},
		{traceparentA + "X-Request-Id: caller\n", "base"},
	} {
		if got, _ := l.Get(start, idsOf(c, tt.head)); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.head, got, tt.want)
		}
	}
}

func TestLedgerIsBounded(t *testing.T) {
	for _, size := range []int{0, 1, 10, 1000, 20_000} {
		l := NewLedger(size, time.Hour)
		room := max(1, size) * idsPerTrace
		for i := range 3 * room {
			l.Put(start, single(i), "gray")
		}
		// Shards round up.
		if got, most := l.Len(), room+len(l.shards); got > most || got < room*9/10 {
			t.Errorf("size %d: holds %d ids, want about %d", size, got, room)
		}
	}
}

func TestLedgerHoldsAsManyTracesAsItSays(t *testing.T) {
	const size = 20_000
	l := NewLedger(size, time.Hour)
	c := carrier(t, Config{})
	all := make([]*IDs, size)
	for i := range all {
		h := parse("")
		all[i] = new(IDs)
		c.IDs(h, all[i])
		c.Make(h, all[i])
		l.Put(start, all[i], "gray")
	}
	lost := 0
	for _, ids := range all {
		if _, ok := l.Get(start, ids); !ok {
			lost++
		}
	}
	// Shards are not filled evenly, and a trace is lost when all its ids are.
	if lost > size/100 {
		t.Errorf("lost %d of %d", lost, size)
	}
}

func TestLedgerLetsTheOldestGo(t *testing.T) {
	const room = 10 * idsPerTrace
	l := NewLedger(10, time.Hour)
	for i := range room {
		l.Put(start, single(i), "gray")
	}
	l.Put(start, single(0), "gray") // again: it is no longer the oldest
	l.Put(start, single(room), "gray")
	for i, want := range map[int]bool{0: true, 1: false, 2: true, room - 1: true, room: true} {
		if _, ok := l.Get(start, single(i)); ok != want {
			t.Errorf("id %d: got %v, want %v", i, ok, want)
		}
	}
}

func TestLedgerLetsWhatHasExpiredGo(t *testing.T) {
	l := NewLedger(10_000, time.Minute)
	for i := range 5000 {
		l.Put(start, single(i), "gray")
	}
	for i := range 5000 {
		l.Put(start.Add(2*time.Minute), single(5000+i), "gray")
	}
	if got := l.Len(); got != 5000 {
		t.Errorf("got %d, want 5000", got)
	}
}

func TestLedgerHoldsManyTags(t *testing.T) {
	l := NewLedger(100, time.Minute)
	for i := range 10_000 {
		tag := "pr-" + strconv.Itoa(i)
		l.Put(start, single(i), tag)
		if got, _ := l.Get(start, single(i)); got != tag {
			t.Fatalf("got %q, want %q", got, tag)
		}
	}
	if got, most := len(l.shards[0].tags.names), 100*idsPerTrace+1; got > most {
		t.Errorf("%d tags are kept for %d ids", got, most-1)
	}
}

func TestLedgerIsSafeForConcurrentUse(t *testing.T) {
	l := NewLedger(2000, time.Minute)
	var group sync.WaitGroup
	for g := range 8 {
		group.Go(func() {
			tag := fmt.Sprintf("tag-%d", g)
			for i := range 3000 {
				ids := request(g*1_000_000 + i)
				l.Put(start, ids, tag)
				if got, ok := l.Get(start, ids); ok && got != tag {
					t.Errorf("got %q, want %q", got, tag)
				}
				l.Len()
			}
		})
	}
	group.Wait()
	if got := l.Conflicts(); got != 0 {
		t.Errorf("got %d conflicts, want 0", got)
	}
}

func TestLedgerEntriesAreSmall(t *testing.T) {
	if got := unsafe.Sizeof(entry{}); got != 32 {
		t.Errorf("an entry takes %d bytes, want 32", got)
	}
}

func TestShardsFor(t *testing.T) {
	for ids, want := range map[int]int{3: 1, 1024: 1, 1025: 2, 300_000: 64, 30_000_000: 1024} {
		if got := shardsFor(ids); got != want {
			t.Errorf("%d ids: got %d shards, want %d", ids, got, want)
		}
	}
}

func TestSettleLetsOneDecideForAll(t *testing.T) {
	l := NewLedger(1000, time.Minute)
	var wg sync.WaitGroup
	got := make([]string, 64)
	for i := range got {
		wg.Go(func() { got[i] = l.Settle(start, cameWith(request(1)), []string{"base", "gray"}[i%2]) })
	}
	wg.Wait()
	for i, tag := range got {
		if tag != got[0] {
			t.Errorf("request %d goes by %q, request 0 by %q", i, tag, got[0])
		}
	}
	if n := l.Conflicts(); n != 0 {
		t.Errorf("got %d conflicts, want 0", n)
	}
}

func TestSettleKeepsWhatIsKnown(t *testing.T) {
	l := NewLedger(1000, time.Minute)
	l.Put(start, request(1), "gray")
	if got := l.Settle(start, cameWith(request(1)), "base"); got != "gray" {
		t.Errorf("got %q, want gray", got)
	}
	if got := l.Settle(start.Add(2*time.Minute), cameWith(request(1)), "base"); got != "base" {
		t.Errorf("after the ttl: got %q, want base", got)
	}
}

func TestSettleRemembersNoIDsThatWereMade(t *testing.T) {
	l := NewLedger(1000, time.Minute)
	ids := request(1) // none of these came
	if got := l.Settle(start, ids, "gray"); got != "gray" {
		t.Errorf("got %q, want gray", got)
	}
	if n := l.Len(); n != 0 {
		t.Errorf("got %d ids remembered, want 0", n)
	}
}

// cameWith makes all of ids such that came with the request.
func cameWith(ids *IDs) *IDs {
	ids.came = ids.n
	return ids
}
