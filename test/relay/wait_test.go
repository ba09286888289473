package relay

import (
	"errors"
	"os"
	"testing"
	"time"

	"graylane/test/harness"
)

// await waits for something that is to happen, and gives the time that took.
func await(t testing.TB, done <-chan struct{}) time.Duration {
	t.Helper()
	begin := time.Now()
	select {
	case <-done:
	case <-time.After(harness.Patience):
		t.Fatalf("waited %v in vain", harness.Patience)
	}
	return time.Since(begin)
}

// isTimeout says that a connection neither gave anything nor ended.
func isTimeout(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }
