package upstream

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestHowManyMayBeOut(t *testing.T) {
	for _, c := range []struct {
		tag                 string
		endpoints, sick     int
		wantUsable, wantOut int
	}{
		{"base", 1, 1, 1, 0},
		{"base", 2, 1, 1, 1},
		{"base", 2, 2, 2, 0},
		{"base", 3, 1, 2, 1},
		{"base", 3, 2, 2, 1},
		{"base", 3, 3, 3, 0},
		{"base", 10, 4, 6, 4},
		{"base", 10, 5, 5, 5},
		{"base", 10, 9, 5, 5},
		{"base", 10, 10, 10, 0},
		{"gray", 1, 1, 0, 1},
		{"gray", 3, 2, 1, 2},
		{"gray", 3, 3, 0, 3},
	} {
		t.Run(fmt.Sprintf("%s %d of %d", c.tag, c.sick, c.endpoints), func(t *testing.T) {
			r := newRig()
			g := r.put(users(c.tag, addressesOf(c.endpoints)...))[0]
			addresses := addressesOf(c.endpoints)
			slices.Reverse(addresses) // not the order that they are in
			for _, address := range addresses[:c.sick] {
				r.pass(time.Millisecond)
				r.fail(t, g, address)
			}
			total, usable := g.Counts()
			if total != c.endpoints || usable != c.wantUsable {
				t.Errorf("got %d usable of %d, want %d of %d", usable, total, c.wantUsable, c.endpoints)
			}
			out := 0
			for i, address := range addresses {
				state := r.states()[address]
				if state != StateOut {
					continue
				}
				out++
				if i >= c.wantOut {
					t.Errorf("%s is out, want only the %d that fell sick first", address, c.wantOut)
				}
			}
			if out != c.wantOut {
				t.Errorf("got %d out, want %d", out, c.wantOut)
			}
		})
	}
}

func TestWhoRecoversMakesRoomForTheNextToBeOut(t *testing.T) {
	r := newRig()
	g := r.put(users("base", "a:1", "b:1", "c:1"))[0]
	r.fail(t, g, "a:1")
	r.pass(time.Second)
	r.fail(t, g, "b:1")
	if diff := cmp.Diff(r.states(), map[string]string{"a:1": StateOut, "b:1": StateKept, "c:1": StateOK}); diff != "" {
		t.Errorf("states differ (-got +want):\n%s", diff)
	}
	r.pass(29 * time.Second)
	r.ask(g, well) // the trial of a
	if diff := cmp.Diff(r.states(), map[string]string{"a:1": StateWarming, "b:1": StateOut, "c:1": StateOK}); diff != "" {
		t.Errorf("states differ (-got +want):\n%s", diff)
	}
}

func TestCircuitOfAnEndpoint(t *testing.T) {
	for _, c := range []struct {
		name string
		what any
		out  bool
	}{
		{"502", 502, true},
		{"503", 503, true},
		{"504", 504, true},
		{"refused connections", errRefused, true},
		{"connections closed before a reply", errClosed, true},
		{"an app's own 500", 500, false},
		{"501", 501, false},
		{"404", 404, false},
		{"callers that leave", errGone, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig()
			g := r.put(users("base", "a:1", "b:1", "c:1"))[0]
			r.count(g, 30, only("b:1", c.what))
			got := r.count(g, 30, well)
			if out := got["b:1"] == 0; out != c.out {
				t.Errorf("after 10 answers of this kind b:1 got %d of 30 requests, want it out: %v", got["b:1"], c.out)
			}
		})
	}
}

func TestASuccessForgivesTheFailuresBefore(t *testing.T) {
	r := newRig()
	g := r.put(users("gray", "a:1"))[0]
	for _, status := range []int{503, 503, 200, 503, 503} {
		r.ask(g, only("a:1", status))
	}
	if got := r.states()["a:1"]; got != StateOK {
		t.Errorf("after never more than two failures in a row: got state %s, want %s", got, StateOK)
	}
}

func TestOnlyAnswersTellHowFastAnEndpointIs(t *testing.T) {
	r := newRig()
	g := r.put(users("gray", "a:1"))[0]
	for _, c := range []struct {
		result Result
		want   float64
	}{
		{Result{Status: 503, Waited: time.Millisecond}, 0},
		{Result{Err: errClosed, Waited: time.Millisecond}, 0},
		{Result{Status: 200, Waited: 10 * time.Millisecond}, 10},
	} {
		pick := g.Pick(0)
		pick.Next(r.clock)
		c.result.Now = r.clock
		pick.End(c.result)
		if got := r.Status()[0].LatencyMS; got != c.want {
			t.Errorf("after %+v: got a latency of %v ms, want %v", c.result, got, c.want)
		}
	}
}

func TestConnectionsAloneFeedTheCircuitToo(t *testing.T) {
	r := newRig()
	g := r.put(users("gray", "a:1"))[0]
	dial := func(err error) {
		pick := g.Pick(0)
		if pick.Next(r.clock) == nil {
			t.Fatal("there is no endpoint to connect to")
		}
		pick.End(Result{Now: r.clock, Err: err, Dialed: true})
	}
	dial(context.Canceled) // the caller left
	dial(nil)
	dial(errAny)
	if got := r.states()["a:1"]; got != StateDoubt {
		t.Fatalf("after a failure to connect: got state %s, want %s", got, StateDoubt)
	}
	r.pass(r.breaking.doubt)
	dial(nil)
	if got := r.states()["a:1"]; got != StateOK {
		t.Errorf("after a connection: got state %s, want %s", got, StateOK)
	}
}

// TestRandomEventsNeverBreakTheRules does at random what happens to a group, and
// holds what is seen of it against the rules that a policy's author relies on.
func TestRandomEventsNeverBreakTheRules(t *testing.T) {
	for seed := range uint64(30) {
		random := rand.New(rand.NewPCG(seed, 3))
		r := newRig()
		tag := []string{"base", "gray"}[seed%2]
		v := users(tag, addressesOf(1+random.IntN(7))...)
		v.Balance.Kind = Kind(random.IntN(len(kindNames)))
		g := r.put(v)[0]
		fate := map[string]any{}
		for step := range 300 {
			r.pass(time.Duration(random.ExpFloat64() * float64(3*time.Second)))
			if random.IntN(10) == 0 {
				address := v.Targets[random.IntN(len(v.Targets))].Address
				fate[address] = []any{200, 500, 503, errRefused, errClosed, errGone}[random.IntN(6)]
			}
			if random.IntN(40) == 0 {
				g = r.put(v)[0]
			}
			r.ask(g, func(address string) any { return fate[address] })

			total, usable := g.Counts()
			states := map[string]int{}
			for _, s := range r.Status() {
				states[s.State]++
			}
			gone := states[StateOut] + states[StateDoubt] + states[StateTrial]
			switch {
			case total != len(v.Targets):
				t.Fatalf("seed %d, step %d: got %d endpoints, want %d", seed, step, total, len(v.Targets))
			case tag == "base" && gone > total/2:
				t.Fatalf("seed %d, step %d: %d of %d of base are out: %v", seed, step, gone, total, states)
			case tag == "base" && usable < 1:
				t.Fatalf("seed %d, step %d: base is unusable: %v", seed, step, states)
			case usable != total-gone && (usable != 1 || total != gone):
				t.Fatalf("seed %d, step %d: got %d usable of %d with states %v", seed, step, usable, total, states)
			case states[StateKept] > 0 && tag != "base":
				t.Fatalf("seed %d, step %d: a sick endpoint of gray is kept: %v", seed, step, states)
			}
			for _, s := range r.Status() {
				if s.InFlight != 0 {
					t.Fatalf("seed %d, step %d: %s has %d requests under way after all have ended", seed, step, s.Address, s.InFlight)
				}
			}
		}
	}
}
