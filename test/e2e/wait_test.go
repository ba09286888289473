package e2e

import (
	"testing"
	"time"
)

// patience is how long a test waits for what should come soon: a loaded machine with the race detector on is slow.
const patience = 20 * time.Second

// demoPatience is patience for a demo, which builds a sidecar first.
const demoPatience = 3 * time.Minute

// pace is the time between two looks at a condition.
const pace = 10 * time.Millisecond

// waitFor looks at a condition until it holds, and gives the time that took.
func waitFor(t testing.TB, what string, condition func() bool) time.Duration {
	t.Helper()
	return waitWithin(t, patience, what, condition)
}

func waitWithin(t testing.TB, patience time.Duration, what string, condition func() bool) time.Duration {
	t.Helper()
	begin := time.Now()
	tick := time.NewTicker(pace)
	defer tick.Stop()
	for !condition() {
		if time.Since(begin) > patience {
			t.Fatalf("waited %v in vain: %s", patience, what)
		}
		<-tick.C
	}
	return time.Since(begin)
}
