package relay

import (
	"testing"
	"time"

	"graylane/test/harness"
)

// waitClosed waits for something that is to happen once, and gives the time that took.
func waitClosed(t testing.TB, done <-chan struct{}) time.Duration {
	t.Helper()
	begin := time.Now()
	select {
	case <-done:
	case <-time.After(harness.Patience):
		t.Fatalf("waited %v in vain", harness.Patience)
	}
	return time.Since(begin)
}
