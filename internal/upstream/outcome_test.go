package upstream

import (
	"net"
	"os"
	"syscall"
	"testing"

	"graylane/internal/http1"
)

// An endpoint must not be taken out since the sidecar is short of something.
func TestWhatTheSidecarLacksIsNoFaultOfTheEndpoint(t *testing.T) {
	shortage := &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("socket", syscall.EMFILE)}
	for name, r := range map[string]Result{
		"a request":        {Err: http1.ConnectError(t.Context(), "10.0.0.1:80", shortage)},
		"a raw connection": {Dialed: true, Err: shortage},
	} {
		if got := r.outcome(); got != unknown {
			t.Errorf("%s: got %v, want %v", name, got, unknown)
		}
	}
}
