package upstream

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// reference is a circuit as its description reads: it keeps everything that was
// ever told and works out the state from that anew each time.
type reference struct {
	rules  *breaking
	events []told
}

type told struct {
	began, now time.Time
	outcome    outcome
	probe      bool
}

func (r *reference) state() string {
	var (
		row, times        int // failures in a row; times out without a lasting return
		open, refused     bool
		doubted           bool
		lasted            time.Duration
		counted, returned time.Time // what began before counted does not count
	)
	takeOut := func(e told) {
		lasted = r.rules.out
		for range times {
			if lasted *= 2; lasted > r.rules.most {
				lasted = r.rules.most
			}
		}
		times++
		open, doubted, row, refused = true, false, 0, e.outcome == unreached
		counted = e.now.Add(lasted)
	}
	for _, e := range r.events {
		relevant := !e.began.Before(counted)
		if e.probe {
			relevant = open && refused || !open && doubted
		}
		switch {
		case !relevant || e.outcome == unknown:
		case open && e.probe && e.outcome == good:
			refused = false
		case open && e.outcome == good:
			open, row, counted, returned = false, 0, e.now, e.now
		case open:
			takeOut(e)
		case e.outcome == good:
			row, doubted = 0, false
		default:
			row++
			doubted = doubted || e.outcome == unreached
			if row < r.rules.failures {
				break
			}
			if e.now.Sub(returned) > lasted {
				times = 0
			}
			takeOut(e)
		}
	}
	switch {
	case open:
		return fmt.Sprintf("open until %v", counted.Sub(at(0)).Seconds())
	case doubted:
		return "in doubt"
	}
	return "closed"
}

func TestCircuitAgreesWithReferenceOnRandomEvents(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 1))
		rules := testBreaking()
		model := reference{rules: rules}
		var c circuit
		now := 0.0
		for i := range 300 {
			now += r.ExpFloat64() * 10
			e := told{began: at(now - r.ExpFloat64()*5), now: at(now), outcome: outcome(r.IntN(5)), probe: r.IntN(4) == 0}
			if r.IntN(3) > 0 {
				e.outcome = outcome(1 + r.IntN(3)) // so that circuits do open
			}
			if e.probe && e.outcome != good {
				e.outcome = unreached
			}
			model.events = append(model.events, e)
			if e.probe {
				c.probed(rules, e.now, e.outcome == good)
			} else {
				c.report(rules, e.began, e.now, e.outcome)
			}
			if got, want := stateOf(&c), model.state(); got != want {
				t.Fatalf("seed %d, event %d (%+v): got %s, want %s", seed, i, e, got, want)
			}
		}
	}
}
