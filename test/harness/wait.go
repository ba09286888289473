package harness

import (
	"testing"
	"time"
)

// Patience is how long a test waits for what should come soon: a loaded machine with the race detector on is slow.
const Patience = time.Minute

// pace is the time between two looks at a condition.
const pace = 10 * time.Millisecond

// Once wants one of ten tries to go well, where that is a matter of time. What is slow by itself, or has too little time,
// goes wrong each time; what a loaded machine delays does not.
func Once(t testing.TB, try func() error) {
	t.Helper()
	var err error
	for range 10 {
		if err = try(); err == nil || t.Failed() {
			return
		}
	}
	t.Error(err)
}

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
