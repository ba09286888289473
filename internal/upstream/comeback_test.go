package upstream

import (
	"testing"
	"time"
)

func TestOneTrialBringsAnEndpointBack(t *testing.T) {
	r := newRig()
	g := r.put(users("gray", "a:1"))[0]
	r.count(g, 3, only("a:1", 503))
	if got := r.ask(g, well); got != "none" {
		t.Fatalf("a request went to %s, which is out", got)
	}
	if _, usable := g.Counts(); usable != 0 {
		t.Fatalf("got %d usable, want 0", usable)
	}
	r.pass(30 * time.Second)
	if _, usable := g.Counts(); usable != 1 {
		t.Fatalf("got %d usable when a trial is due, want 1", usable)
	}
	trial := g.Pick(0)
	if ep := trial.Next(r.clock); ep == nil {
		t.Fatal("there was no trial")
	}
	if got := r.ask(g, well); got != "none" {
		t.Errorf("a second request went to %s during the trial", got)
	}
	if got := r.states()["a:1"]; got != StateTrial {
		t.Errorf("got state %s, want %s", got, StateTrial)
	}
	trial.End(Result{Now: r.clock, Status: 200})
	if got := r.ask(g, well); got != "a:1" {
		t.Errorf("after the trial a request went to %s", got)
	}
}

func TestATrialWaitsForRoom(t *testing.T) {
	r := newRig()
	v := users("gray", "a:1")
	v.Limit.Requests = 1
	g := r.put(v)[0]
	hangs := g.Pick(0)
	hangs.Next(r.clock)
	r.fail(t, g, "a:1")
	r.pass(r.breaking.out)
	if got := r.ask(g, well); got != "none" {
		t.Fatalf("a second request went to %s, which may have one", got)
	}
	if got := r.states()["a:1"]; got != StateOut {
		t.Errorf("got state %s while no trial could be sent, want %s", got, StateOut)
	}
	if g.view.Load().isDue(r.clock) {
		t.Error("every request asks for the trial that has no room")
	}
	hangs.End(Result{Now: r.clock, Err: errGone})
	r.pass(lookAgain)
	if got := r.ask(g, well); got != "a:1" {
		t.Errorf("with room for the trial it went to %s, want a:1", got)
	}
}

func TestARefusedConnectionIsADoubtThatAProbeSettles(t *testing.T) {
	r := newRig()
	g := r.put(users("base", "a:1", "b:1", "c:1"))[0]
	asked := 0
	r.count(g, 100, func(address string) any {
		if address == "b:1" {
			asked++
			return errRefused
		}
		return 200
	})
	if asked != 1 {
		t.Errorf("%d requests were sent to an endpoint that refuses connections, want 1", asked)
	}
	if got := r.states()["b:1"]; got != StateDoubt {
		t.Errorf("got state %s, want %s", got, StateDoubt)
	}
	r.pass(time.Second)
	ep := r.endpoint(t, g, "b:1")
	ep.probed(r.clock, nil)
	if got := r.count(g, 30, well); got["b:1"] != 10 {
		t.Errorf("after a good probe b:1 got %d of 30, want its whole part, 10", got["b:1"])
	}
	r.count(g, 3, only("b:1", errRefused))
	ep.probed(r.clock, errRefused)
	ep.probed(r.clock, errRefused)
	if got := r.states()["b:1"]; got != StateOut {
		t.Errorf("after three failures to connect: got state %s, want %s", got, StateOut)
	}
}

func TestAnEndpointThatIsCheckedIllComesBackByItsCheck(t *testing.T) {
	r := newRig()
	v := users("gray", "a:1")
	v.Check = &Check{HealthyAfter: 2, UnhealthyAfter: 1, Interval: time.Second}
	g := r.put(v)[0]
	ep := r.endpoint(t, g, "a:1")
	ep.next.check = r.clock
	ep.checked(r.clock, v.Check, errAny)
	r.pass(time.Hour)
	if got := r.ask(g, well); got != "none" {
		t.Errorf("a request went to %s, which its check calls ill", got)
	}
	ep.checked(r.clock, v.Check, nil)
	ep.checked(r.clock, v.Check, nil)
	if got := r.ask(g, well); got != "a:1" {
		t.Errorf("after two good checks a request went to %s", got)
	}
}

func TestAnEndpointThatIsCheckedIllIsNotTried(t *testing.T) {
	r := newRig()
	v := users("gray", "a:1")
	v.Check = &Check{HealthyAfter: 2, UnhealthyAfter: 1, Interval: time.Second}
	g := r.put(v)[0]
	r.fail(t, g, "a:1")
	ep := r.endpoint(t, g, "a:1")
	ep.next.check = r.clock
	ep.checked(r.clock, v.Check, errAny)
	r.pass(time.Hour)
	if got := r.ask(g, well); got != "none" {
		t.Errorf("a request was sent to try %s, which its check calls ill", got)
	}
	if _, usable := g.Counts(); usable != 0 {
		t.Errorf("got %d usable, want 0", usable)
	}
}

func TestWithoutChecksNobodyStaysIll(t *testing.T) {
	r := newRig()
	v := users("gray", "a:1")
	v.Check = &Check{HealthyAfter: 2, UnhealthyAfter: 1, Interval: time.Second}
	g := r.put(v)[0]
	ep := r.endpoint(t, g, "a:1")
	ep.next.check = r.clock
	ep.checked(r.clock, v.Check, errAny)
	check := v.Check
	v.Check = nil
	g = r.put(v)[0]
	if got := r.states()["a:1"]; got != StateOK {
		t.Errorf("after a policy without checks: got state %s, want %s", got, StateOK)
	}
	ep.checked(r.clock, check, errAny) // it was under way
	if got := r.ask(g, well); got != "a:1" {
		t.Errorf("after a policy without checks a request went to %s", got)
	}
}
