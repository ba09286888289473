package pods

import (
	"fmt"
	"math"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"graylane/test/harness"
)

// TestIdleConnectionsAllocateLittle holds many connections through two sidecars, each of which has moved something, and looks
// at what the sidecars take.
func TestIdleConnectionsAllocateLittle(t *testing.T) {
	// Each takes two descriptors in a sidecar, which keeps 3 of 8 from callers, and some for itself.
	connections := min(10_000, openFiles(t)/8*5/2-250)
	limit := 20<<10 + 12*connections // KiB: below 150 MB for ten thousand
	if harness.RaceEnabled {
		connections = 500 // the race detector takes many times as much for each
	}
	p := newPair(t, plainPolicy)
	p.serve(t, ":9000", func(conn *net.TCPConn) {
		fmt.Fprint(conn, "hello")
		_, _ = conn.Read(make([]byte, 1)) // until its caller ends it
	})
	var callers sync.WaitGroup
	turns := make(chan struct{}, 100) // callers that wait for their banner
	addrs := p.callee.At(9000)        // so that ports do not get scarce, of which each sidecar needs as many again
	for i := range connections {
		turns <- struct{}{}
		callers.Go(func() {
			defer func() { <-turns }()
			conn, err := p.caller.Dial(t, AppUser, addrs[i%2])
			if err != nil {
				t.Error(err)
				return
			}
			wantRead(t, conn, "hello")
		})
	}
	callers.Wait()
	for _, pod := range []*Pod{p.caller, p.callee} {
		if n := pod.Metric(t, "graylane_relayed_connections"); n != float64(connections) {
			t.Errorf("%s relays %v connections, want %d", pod.Name, n, connections)
		}
		kib := residentKiB(t, pod.Sidecar.PID())
		t.Logf("%s takes %d MiB for %d connections", pod.Name, kib>>10, connections)
		if !harness.RaceEnabled && kib > limit {
			t.Errorf("%s takes %d KiB, want %d at most", pod.Name, kib, limit)
		}
	}
}

// openFiles is how many this process may have open, and those that it starts: enough
// for ten thousand connections, unless root has been denied to say so.
func openFiles(t *testing.T) int {
	t.Helper()
	const enough = 36_000
	_ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: enough, Max: enough})
	var limit syscall.Rlimit
	harness.Must(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit))
	return int(min(limit.Cur, math.MaxInt32))
}

func residentKiB(t *testing.T, pid int) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	harness.Must(t, err)
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	kib, err := strconv.Atoi(strings.Fields(rest)[0])
	harness.Must(t, err)
	return kib
}
