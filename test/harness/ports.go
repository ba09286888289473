package harness

import (
	"fmt"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"testing"
)

// Ports are taken from below the range that systems hand out to outgoing connections (Linux 32768, others 49152),
// so that no connection of this run can take one between the look and the use.
const (
	portsFrom = 10_000
	portsTo   = 30_000
)

// nextPort counts up from a random start, so that two runs on one machine do not meet.
var nextPort = func() *atomic.Uint32 {
	n := new(atomic.Uint32)
	n.Store(rand.Uint32N(portsTo - portsFrom))
	return n
}()

// FreePort gives a port of 127.0.0.1 that nothing listens on and no other call of this run was given.
func FreePort(t testing.TB) int {
	t.Helper()
	return FreePorts(t, 1)
}

// FreePorts gives the first of n such ports in a row.
func FreePorts(t testing.TB, n int) int {
	t.Helper()
	for range portsTo - portsFrom {
		last := nextPort.Add(uint32(n)) % (portsTo - portsFrom)
		if first := portsFrom + int(last) - n + 1; first >= portsFrom && AllFree(first, n) {
			return first
		}
	}
	t.Fatalf("no %d free ports in a row", n)
	return 0
}

// AllFree says that nothing listens on n ports of loopback from first on.
func AllFree(first, n int) bool {
	for port := first; port < first+n; port++ {
		l, err := net.Listen("tcp", Local(port))
		if err != nil {
			return false
		}
		_ = l.Close()
	}
	return true
}

// FreeAddress is 127.0.0.1 with a FreePort.
func FreeAddress(t testing.TB) string {
	t.Helper()
	return Local(FreePort(t))
}

// Local is an address on loopback.
func Local(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }
