package upstream

import (
	"fmt"
	"testing"
	"time"
)

func testBreaking() *breaking {
	b := defaultBreaking()
	return &b
}

// at is a time of the tests, in seconds.
func at(seconds float64) time.Time {
	return time.Unix(1_000_000, 0).Add(time.Duration(seconds * float64(time.Second)))
}

func stateOf(c *circuit) string {
	switch {
	case c.open:
		return fmt.Sprintf("open until %v", c.from.Sub(at(0)).Seconds())
	case c.doubt:
		return "in doubt"
	}
	return "closed"
}

func TestCircuit(t *testing.T) {
	type event struct {
		at      float64
		outcome outcome
		want    string  // state after it
		began   float64 // 0: at the same time
	}
	for _, c := range []struct {
		name   string
		events []event
	}{
		{"opens at the third failure in a row", []event{
			{1, bad, "closed", 0},
			{2, bad, "closed", 0},
			{3, bad, "open until 33", 0},
		}},
		{"a success between starts the count again", []event{
			{1, bad, "closed", 0},
			{2, bad, "closed", 0},
			{3, good, "closed", 0},
			{4, bad, "closed", 0},
			{5, bad, "closed", 0},
			{6, bad, "open until 36", 0},
		}},
		{"what ended for another reason neither counts nor forgives", []event{
			{1, bad, "closed", 0},
			{2, bad, "closed", 0},
			{3, unknown, "closed", 0},
			{4, bad, "open until 34", 0},
		}},
		{"a failure to connect is a doubt, the third opens", []event{
			{1, unreached, "in doubt", 0},
			{2, unreached, "in doubt", 0},
			{3, unreached, "open until 33", 0},
		}},
		{"a success ends a doubt", []event{
			{1, unreached, "in doubt", 0},
			{2, good, "closed", 0},
			{3, unreached, "in doubt", 0},
		}},
		{"failures of both kinds are one row", []event{
			{1, bad, "closed", 0},
			{2, unreached, "in doubt", 0},
			{3, bad, "open until 33", 0},
		}},
		{"what began before it opened does not close it", []event{
			{1, bad, "closed", 0},
			{1, bad, "closed", 0},
			{1, bad, "open until 31", 0},
			{40, good, "open until 31", 0.5},
			{40, good, "closed", 35},
		}},
		{"what began before it closed does not open it", []event{
			{1, bad, "closed", 0},
			{1, bad, "closed", 0},
			{1, bad, "open until 31", 0},
			{31, good, "closed", 0},
			{32, bad, "closed", 30},
			{32, bad, "closed", 30},
			{32, unreached, "closed", 30},
		}},
		{"a failed trial doubles the time out, up to five minutes", []event{
			{1, bad, "closed", 0},
			{1, bad, "closed", 0},
			{1, bad, "open until 31", 0},
			{31, bad, "open until 91", 0},
			{91, unreached, "open until 211", 0},
			{211, bad, "open until 451", 0},
			{451, bad, "open until 751", 0},
			{751, bad, "open until 1051", 0},
		}},
		{"a short return does not reset the doubling", []event{
			{1, bad, "closed", 0},
			{1, bad, "closed", 0},
			{1, bad, "open until 31", 0},
			{31, good, "closed", 0},
			{40, bad, "closed", 0},
			{40, bad, "closed", 0},
			{40, bad, "open until 100", 0},
		}},
		{"a lasting return does", []event{
			{1, bad, "closed", 0},
			{1, bad, "closed", 0},
			{1, bad, "open until 31", 0},
			{31, good, "closed", 0},
			{70, bad, "closed", 0},
			{70, bad, "closed", 0},
			{70, bad, "open until 100", 0},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var circuit circuit
			for i, e := range c.events {
				began := e.began
				if began == 0 {
					began = e.at
				}
				circuit.report(testBreaking(), at(began), at(e.at), e.outcome)
				if got := stateOf(&circuit); got != e.want {
					t.Fatalf("event %d: got %s, want %s", i, got, e.want)
				}
			}
		})
	}
}

func TestProbesCountWhileInDoubt(t *testing.T) {
	rules := testBreaking()
	var c circuit
	c.report(rules, at(1), at(1), unreached)
	c.probed(rules, at(2), false)
	if got := stateOf(&c); got != "in doubt" {
		t.Fatalf("after a failed probe: got %s, want in doubt", got)
	}
	c.probed(rules, at(3), false)
	if got := stateOf(&c); got != "open until 33" {
		t.Fatalf("after the second: got %s, want open until 33", got)
	}
	if c.admit(rules, at(34)) {
		t.Error("a trial was admitted before a probe has reached the endpoint")
	}
	c.probed(rules, at(34), true)
	if !c.admit(rules, at(35)) {
		t.Error("no trial was admitted after a probe has reached the endpoint")
	}
	c.report(rules, at(35), at(36), good)
	if got := stateOf(&c); got != "closed" {
		t.Errorf("after the trial: got %s, want closed", got)
	}
}

func TestReachedProbeEndsDoubt(t *testing.T) {
	rules := testBreaking()
	var c circuit
	c.report(rules, at(1), at(1), unreached)
	c.report(rules, at(2), at(2), unreached)
	c.probed(rules, at(3), true)
	c.report(rules, at(4), at(4), unreached)
	if got := stateOf(&c); got != "in doubt" {
		t.Errorf("got %s, want in doubt: the probe should have started the count again", got)
	}
}

func TestProbesDoNotOpenOrCloseWhatIsNotInQuestion(t *testing.T) {
	rules := testBreaking()
	var c circuit
	for range 5 {
		c.probed(rules, at(1), false)
	}
	if got := stateOf(&c); got != "closed" {
		t.Errorf("after probes of a closed one: got %s, want closed", got)
	}
	for range 3 {
		c.report(rules, at(2), at(2), bad)
	}
	c.probed(rules, at(40), true)
	if got := stateOf(&c); got != "open until 32" {
		t.Errorf("after a probe of one that answers 503: got %s, want open until 32", got)
	}
}

func TestPassedChecksBringBackWhoCouldNotBeReached(t *testing.T) {
	rules := testBreaking()
	for _, c := range []struct {
		name   string
		before []outcome
		want   string
	}{
		{"in doubt", []outcome{unreached}, "closed"},
		{"out since it could not be connected to", []outcome{unreached, unreached, unreached}, "closed"},
		{"out since it closed connections", []outcome{bad, bad, broken}, "closed"},
		{"out since it answers 503", []outcome{broken, broken, bad}, "open until 31"},
		{"well, with a failure", []outcome{bad}, "closed"},
	} {
		var circuit circuit
		circuit.passed(at(0), 2) // that was before
		circuit.passed(at(0), 2)
		for _, o := range c.before {
			circuit.report(rules, at(1), at(1), o)
		}
		wasOpen := circuit.open
		circuit.passed(at(2), 2)
		if circuit.open != wasOpen {
			t.Errorf("%s: one check of two brought it back", c.name)
		}
		circuit.passed(at(3), 2)
		if got := stateOf(&circuit); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

func TestWithoutProbesATrialComesAllTheSame(t *testing.T) {
	rules := testBreaking()
	var c circuit
	c.report(rules, at(1), at(1), unreached)
	if c.admit(rules, at(5.9)) {
		t.Error("a trial was admitted 4.9 s into the doubt, want none before 5 s")
	}
	if !c.admit(rules, at(6)) {
		t.Error("no trial was admitted 5 s into the doubt")
	}
	c.report(rules, at(6), at(6), unreached)
	c.report(rules, at(6), at(6), unreached)
	if c.admit(rules, at(65)) || !c.admit(rules, at(66)) {
		t.Error("want a trial 30 s after the open circuit was due, not before")
	}
}

func TestOneTrialAtATime(t *testing.T) {
	rules := testBreaking()
	var c circuit
	for range 3 {
		c.report(rules, at(1), at(1), bad)
	}
	for _, step := range []struct {
		at   float64
		want bool
		why  string
	}{
		{30, false, "before it is due"},
		{31, true, "when it is due"},
		{31, false, "while a trial is under way"},
		{60, false, "while a trial is under way"},
		{61, true, "after a trial that did not end in time"},
	} {
		if got := c.admit(rules, at(step.at)); got != step.want {
			t.Errorf("trial at %v, %s: got %v, want %v", step.at, step.why, got, step.want)
		}
	}
	c.report(rules, at(61), at(62), unknown)
	if !c.admit(rules, at(62)) {
		t.Error("no trial after one that told nothing")
	}
	c.report(rules, at(62), at(63), good)
	if c.admit(rules, at(64)) {
		t.Error("a closed circuit admits a trial")
	}
}
