package pods

import (
	"errors"
	"fmt"
	"net"
	"syscall"
	"testing"

	"graylane/test/harness"
)

func TestResetsArrive(t *testing.T) {
	p := newPair(t, plainPolicy)
	p.serve(t, ":9000", func(conn *net.TCPConn) {
		fmt.Fprint(conn, "hello")
		wantRead(t, conn, "reset me")
		_ = conn.SetLinger(0) // a closed one is reset too
	})
	conn := p.dial(t, p.callee.Addr+":9000")
	wantRead(t, conn, "hello")
	send(t, conn, "reset me")
	if n, err := conn.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("got %d bytes, %v, want a reset", n, err)
	}
}

func TestClosedPorts(t *testing.T) {
	p := newPair(t, plainPolicy)
	p.serve(t, "127.0.0.1:9090", func(conn *net.TCPConn) { fmt.Fprint(conn, "private") })
	crashed := p.callee.Listen(t, ":7070")
	for _, addr := range p.callee.At(7070) {
		if _, err := p.Client.Dial(t, 0, addr); err != nil {
			t.Errorf("%s while the app is there: %v", addr, err)
		}
	}
	harness.Must(t, crashed.Close())
	for _, port := range []int{8080, 9090, 7070} { // nobody listens, or on loopback alone, or no more
		for _, addr := range p.callee.At(port) {
			// A kubelet's probe, or any caller without a sidecar.
			if conn, err := p.Client.Dial(t, 0, addr); !errors.Is(err, syscall.ECONNREFUSED) {
				t.Errorf("%s from outside: got %v, %v, want refused", addr, conn, err)
			}
			// The caller's own sidecar has accepted by then, so that a reset is what is left.
			conn, err := p.caller.Dial(t, AppUser, addr)
			if err == nil {
				_, err = conn.Read(make([]byte, 1))
			}
			if !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.ECONNREFUSED) {
				t.Errorf("%s from a pod: got %v, want a reset", addr, err)
			}
		}
	}
}

// A pod whose rules are in force, and whose sidecar does not run yet or any more, is a closed door both ways: what passed
// would be unmarked.
func TestNothingPassesASidecarThatDoesNotRun(t *testing.T) {
	p := newPair(t, plainPolicy)
	passed := func(conn *net.TCPConn) { t.Errorf("a call passed, from %v", conn.RemoteAddr()) }
	p.serve(t, ":9000", passed)
	serveIn(t, p.Client, ":9000", passed)
	p.caller.Sidecar.Kill()
	p.callee.Sidecar.Kill()
	for _, addr := range p.callee.At(9000) {
		if conn, err := p.Client.Dial(t, 0, addr); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("into the pod, to %s: got %v, %v, want refused", addr, conn, err)
		}
	}
	for _, addr := range []string{ClientAddr + ":9000", "[" + ClientAddr6 + "]:9000"} {
		if conn, err := p.caller.Dial(t, AppUser, addr); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("out of the pod, to %s: got %v, %v, want refused", addr, conn, err)
		}
	}
}
