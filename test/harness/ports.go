package harness

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
)

// Ports are taken from below the range that systems hand out by themselves (Linux from 32768 on, others 49152), so that
// no connection and no listener on port 0 can take one between the look and the use, or where a test wants nobody.
// Each run has a block of its own: packages are tested at the same time.
const (
	portsFrom = 10_000
	portsTo   = 30_000
	blockSize = 500
)

// block is the ports of this run. The first of them is listened on while the run lasts, which keeps others away.
type block struct {
	held net.Listener

	mu    sync.Mutex
	first int
	given int // ports since the first, after which they are given again
}

var ownBlock = sync.OnceValues(func() (*block, error) {
	const blocks = (portsTo - portsFrom) / blockSize
	for _, i := range rand.Perm(blocks) {
		first := portsFrom + i*blockSize
		if l, err := net.Listen("tcp", Local(first)); err == nil {
			return &block{held: l, first: first}, nil
		}
	}
	return nil, errors.New("every block of ports is taken")
})

// take gives the first of n ports in a row.
func (b *block) take(n int) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for range blockSize {
		if b.given+n >= blockSize {
			b.given = 0
		}
		port := b.first + b.given + 1
		b.given++
		if AllFree(port, n) {
			b.given += n - 1
			return port, nil
		}
	}
	return 0, fmt.Errorf("no %d free ports in a row", n)
}

// FreePort gives a port of 127.0.0.1 that nothing listens on, nor will, unless the caller does.
func FreePort(t testing.TB) int {
	t.Helper()
	return FreePorts(t, 1)
}

// FreePorts gives the first of n such ports in a row.
func FreePorts(t testing.TB, n int) int {
	t.Helper()
	own, err := ownBlock()
	Must(t, err)
	port, err := own.take(n)
	Must(t, err)
	return port
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
