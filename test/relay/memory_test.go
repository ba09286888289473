package relay

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"graylane/test/harness"
)

// residentBytes is the memory that a sidecar has now.
func residentBytes(t testing.TB, s *harness.Sidecar) int64 { return memoryOf(t, s, "VmRSS:") }

// peakBytes is the most that it ever had.
func peakBytes(t testing.TB, s *harness.Sidecar) int64 { return memoryOf(t, s, "VmHWM:") }

func memoryOf(t testing.TB, s *harness.Sidecar, field string) int64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.PID()))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		var kib int64
		if rest, found := strings.CutPrefix(line, field); found {
			if _, err := fmt.Sscan(rest, &kib); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			return kib << 10
		}
	}
	t.Fatalf("no %s for %s in %s", field, s.Name, status)
	return 0
}

// Idle connections hold no buffers.
func TestTenThousandIdleConnectionsAllocateLittle(t *testing.T) {
	connections, limit := 9500, int64(95<<20) // of 10 000 in 100 MB: a process here may open 20 000 files, at both ends
	if harness.RaceEnabled {
		connections, limit = 500, 1<<40 // the race detector's own memory is many times that of the program
	}
	c := newChain(t, "")
	c.origin.plays(t, always(ok))
	for i := range connections {
		p := c.dial(t)
		p.say("GET / HTTP/1.1⏎Host: shop⏎⏎")
		if got := p.reply("GET"); got != ok {
			t.Fatalf("connection %d: got %q", i, got)
		}
	}
	got := residentBytes(t, c.near)
	t.Logf("%d MiB for %d connections", got>>20, connections)
	if got > limit {
		t.Errorf("%d bytes for %d idle connections, want %d at most", got, connections, limit)
	}
}
