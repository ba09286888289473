package upstream

import (
	linked "container/list"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestLimitSkipsWhoIsFull(t *testing.T) {
	for kind := range Kind(len(kindNames)) {
		r := newRig()
		v := users("base", "a:1", "b:1")
		v.Balance.Kind, v.Limit = kind, Limit{Requests: 2}
		g := r.put(v)[0]
		got := map[string]int{}
		picks := make([]Pick, 5)
		for i := range picks {
			picks[i] = g.Pick(7)
			if ep := picks[i].Next(r.clock); ep != nil {
				got[ep.Address]++
			}
		}
		if diff := cmp.Diff(got, map[string]int{"a:1": 2, "b:1": 2}); diff != "" {
			t.Errorf("%s: five requests with a limit of two differ (-got +want):\n%s", kind, diff)
		}
		if !picks[4].Full() {
			t.Errorf("%s: the fifth request does not say that all are full", kind)
		}
		picks[0].End(Result{Now: r.clock, Status: 200})
		if pick := g.Pick(7); pick.Next(r.clock) == nil {
			t.Errorf("%s: after one has ended there is no room", kind)
		}
	}
}

func TestARetryThatFindsNoRoomIsNoOverload(t *testing.T) {
	r := newRig()
	v := users("base", "a:1", "b:1")
	v.Limit.Requests = 1
	g := r.put(v)[0]
	underWay(r.endpoint(t, g, "a:1"), 1)
	if got := r.walk(g); len(got) != 1 || got[0] != "b:1" {
		t.Errorf("tried %v, want b:1 alone, since a:1 is full", got)
	}
	if got := r.Versions()[0].Overloaded; got != 0 {
		t.Errorf("got %d counted as overloaded, want 0: the request was sent", got)
	}
}

func TestLimitLetsARequestWaitForRoom(t *testing.T) {
	r := newRig()
	v := users("base", "a:1")
	v.Limit = Limit{Requests: 1, Wait: time.Minute}
	g := r.put(v)[0]
	const requests = 50
	var served sync.WaitGroup
	served.Add(requests)
	for range requests {
		go func() {
			defer served.Done()
			pick := g.Pick(0)
			if pick.Next(at(0)) == nil {
				t.Error("a request found no room, though it may wait for a minute")
				return
			}
			if n := r.endpoint(t, g, "a:1").load.inFlight(); n > 1 {
				t.Errorf("%d requests under way, want 1", n)
			}
			pick.End(Result{Now: at(0), Status: 200})
		}()
	}
	served.Wait()
}

func TestEveryPlaceThatIsFreedGoesToOneWhoWaits(t *testing.T) {
	r := newRig()
	v := users("base", "a:1")
	v.Limit = Limit{Requests: 2, Wait: time.Minute}
	g := r.put(v)[0]
	for range 100 {
		one, two := g.Pick(0), g.Pick(0)
		one.Next(at(0))
		two.Next(at(0))
		var served sync.WaitGroup
		for range 2 {
			served.Go(func() {
				pick := g.Pick(0)
				if pick.Next(at(0)) == nil {
					t.Error("a request found no room, though it may wait for a minute")
					return
				}
				for g.roster.queue.waiting.Load() > 0 { // this one does not end before the other has its place
					runtime.Gosched()
				}
				pick.End(Result{Now: at(0), Status: 200})
			})
		}
		for g.roster.queue.waiting.Load() < 2 {
			runtime.Gosched()
		}
		one.End(Result{Now: at(0), Status: 200})
		two.End(Result{Now: at(0), Status: 200})
		served.Wait()
	}
}

func TestWhoFindsRoomWakesTheNextWhoWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig()
		v := users("base", "a:1")
		v.Limit = Limit{Requests: 2, Wait: time.Minute}
		g := r.put(v)[0]
		a, q := r.endpoint(t, g, "a:1"), &g.roster.queue
		underWay(a, 2)
		for range 2 {
			go func() {
				pick := g.Pick(0)
				pick.Next(at(0))
			}()
		}
		synctest.Wait()
		underWay(a, 0)
		q.wake() // once for both: the other wake-up is lost where nobody has taken the first
		synctest.Wait()
		if n := q.waiting.Load(); n != 0 {
			t.Errorf("%d still wait, though there was room for both", n)
		}
	})
}

// Who has been at an endpoint already does not go there again, and must not keep its place from who has not.
func TestWhoCannotUseAPlaceWakesTheNextWhoWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig()
		v := users("base", "a:1", "b:1")
		v.Limit = Limit{Requests: 1, Wait: time.Minute}
		g := r.put(v)[0]
		a, b, q := r.endpoint(t, g, "a:1"), r.endpoint(t, g, "b:1"), &g.roster.queue
		underWay(b, 1)
		served := make(chan string, 2)
		serve := func(ep *Endpoint) {
			if ep == nil {
				served <- "nobody"
				return
			}
			served <- ep.Address
		}
		go func() {
			pick := g.Pick(0)
			pick.Next(at(0))
			pick.End(Result{Now: at(0), Err: errClosed})
			serve(pick.Next(at(0)))
		}()
		synctest.Wait() // it has been at a:1, and waits for b:1
		underWay(a, 1)
		go func() {
			pick := g.Pick(0)
			serve(pick.Next(at(0)))
		}()
		synctest.Wait()
		underWay(a, 0)
		q.wake()
		synctest.Wait()
		if n := q.waiting.Load(); n != 1 {
			t.Errorf("%d wait, want the one for b:1", n)
		}
		underWay(b, 0)
		q.wake()
		if first, second := <-served, <-served; first != "a:1" || second != "b:1" {
			t.Errorf("got %s and %s, want a:1, and b:1 for who has been there", first, second)
		}
	})
}

func TestRoomIsOfferedInTheOrderOfThoseWhoWait(t *testing.T) {
	var q queue
	first, second, third := q.enter(), q.enter(), q.enter()
	told := func() (all []bool) {
		for _, place := range [...]*linked.Element{first, second, third} {
			all = append(all, len(place.Value.(chan struct{})) > 0)
		}
		return all
	}
	for _, step := range []struct {
		name string
		do   func()
		want []bool
	}{
		{"there is room", q.wake, []bool{true, false, false}},
		{"there is more before the first has heard of it", q.wake, []bool{true, false, false}},
		{"the first leaves and has not", func() { q.leave(first) }, []bool{true, true, false}},
		{"the second leaves and has", func() { <-second.Value.(chan struct{}); q.leave(second) }, []bool{true, false, false}},
		{"there is room", q.wake, []bool{true, false, true}},
		{"the last passes it on to nobody", func() { q.pass(third) }, []bool{true, false, true}},
		{"the last leaves", func() { q.leave(third) }, []bool{true, false, true}},
		{"there is room for nobody", q.wake, []bool{true, false, true}},
	} {
		step.do()
		if diff := cmp.Diff(told(), step.want); diff != "" {
			t.Errorf("%s: who has been told differs (-got +want):\n%s", step.name, diff)
		}
	}
}

// What becomes of a request that has waited tells of now, and not of the time before.
func TestARequestThatHasWaitedBeginsThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig()
		v := users("base", "a:1")
		v.Limit = Limit{Requests: 1, Wait: time.Minute}
		g := r.put(v)[0]
		first, second := g.Pick(0), g.Pick(0)
		first.Next(r.clock)
		waited := make(chan struct{})
		go func() {
			defer close(waited)
			second.Next(at(0))
		}()
		synctest.Wait()
		r.pass(30 * time.Second)
		first.End(Result{Now: r.clock, Status: 200})
		<-waited
		if got := second.began; !got.Equal(at(30)) {
			t.Errorf("got %v, want %v", got, at(30))
		}
	})
}

// leaver is a Waiter.
type leaver chan struct{}

func (l leaver) Gone() <-chan struct{} { return l }

func TestNobodyWaitsForACallerThatHasLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig()
		v := users("base", "a:1")
		v.Limit = Limit{Requests: 1, Wait: time.Minute}
		g := r.put(v)[0]
		underWay(r.endpoint(t, g, "a:1"), 1)
		caller := make(leaver)
		pick := g.Pick(0)
		pick.Caller = caller
		start, ended := time.Now(), make(chan *Endpoint)
		go func() { ended <- pick.Next(at(0)) }()
		synctest.Wait()
		if n := g.roster.queue.waiting.Load(); n != 1 {
			t.Fatalf("%d wait, want one for as long as its caller is there", n)
		}
		close(caller)
		if ep := <-ended; ep != nil || !pick.Left() {
			t.Errorf("got %v, left: %v, want nothing, since nobody is there", ep, pick.Left())
		}
		if waited, n := time.Since(start), g.roster.queue.waiting.Load(); waited > 0 || n > 0 {
			t.Errorf("it waited for %v, and %d still do", waited, n)
		}
		if got := r.Versions()[0].Overloaded; got != 0 {
			t.Errorf("got %d counted as overloaded, want 0: it might have had its turn", got)
		}
	})
}

func TestLimitWaitsNoLongerThanItSays(t *testing.T) {
	r := newRig()
	v := users("base", "a:1")
	v.Limit = Limit{Requests: 1, Wait: 20 * time.Millisecond}
	g := r.put(v)[0]
	first := g.Pick(0)
	first.Next(r.clock)
	start := time.Now()
	second := g.Pick(0)
	if ep := second.Next(r.clock); ep != nil || !second.Full() {
		t.Errorf("got %v, full: %v, want nothing, since all are full", ep, second.Full())
	}
	if took := time.Since(start); took < 20*time.Millisecond {
		t.Errorf("it waited %v, want 20ms", took)
	}
}
