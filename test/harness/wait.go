package harness

import (
	"testing"
	"time"
)

// Patience is how long a test waits for what should come soon: a loaded machine with the race detector on is slow.
const Patience = 20 * time.Second

// pace is the time between two looks at a condition.
const pace = 10 * time.Millisecond

// WaitFor looks at a condition until it holds, and gives the time that took.
func WaitFor(t testing.TB, what string, condition func() bool) time.Duration {
	t.Helper()
	return WaitWithin(t, Patience, what, condition)
}

// WaitWithin is WaitFor with a patience of choice.
func WaitWithin(t testing.TB, patience time.Duration, what string, condition func() bool) time.Duration {
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
