package pods_test

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"graylane/test/harness"
)

// TestIdleConnectionsTakeLittle holds many connections through two sidecars, each of which has moved something, and looks
// at what the sidecars take.
func TestIdleConnectionsTakeLittle(t *testing.T) {
	// Each takes two descriptors in a sidecar, and two here, and machines often allow 20,000 for a process.
	connections := 9_900
	const limit = 150 << 10 * 9_900 / 10_000 // KiB
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
	addrs := p.both(9000)             // so that ports do not get scarce, of which each sidecar needs as many again
	for i := range connections {
		turns <- struct{}{}
		callers.Go(func() {
			defer func() { <-turns }()
			conn, err := p.caller.Dial(t, appUser, addrs[i%2])
			if err != nil {
				t.Error(err)
				return
			}
			wantRead(t, conn, "hello")
		})
	}
	callers.Wait()
	for _, pod := range []*pod{p.caller, p.callee} {
		if n := pod.metric(t, p.cluster, "graylane_relayed_connections"); n != float64(connections) {
			t.Errorf("%s relays %v connections, want %d", pod.name, n, connections)
		}
		kib := residentKiB(t, pod.sidecar.PID())
		t.Logf("%s takes %d MiB for %d connections", pod.name, kib>>10, connections)
		if !harness.RaceEnabled && kib > limit {
			t.Errorf("%s takes %d KiB, want %d at most", pod.name, kib, limit)
		}
	}
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
