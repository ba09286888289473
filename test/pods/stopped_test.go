package pods

import (
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"graylane/test/harness"
)

// heldVariable makes TestStoppedRunsLeaveNothing the run that is stopped.
const heldVariable = "GRAYLANE_PODS_HELD"

func TestStoppedRunsLeaveNothing(t *testing.T) {
	if os.Getenv(heldVariable) != "" {
		p := newPair(t, plainPolicy)
		fmt.Println("up:", p.caller.Sidecar.PID(), p.callee.Sidecar.PID(), os.Getenv("TMPDIR"))
		select {}
	}
	self, err := os.Executable()
	harness.Must(t, err)
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		run := harness.Start(t, "the run", []string{heldVariable + "=1"}, self, "-test.run=^TestStoppedRunsLeaveNothing$")
		var caller, callee int
		var dir string
		harness.WaitWithin(t, time.Minute, "its pods are up", func() bool {
			if run.Ended() {
				t.Fatal("the run has ended")
			}
			_, err := fmt.Sscanf(run.Log.String(), "up: %d %d %s\n", &caller, &callee, &dir)
			return err == nil
		})
		run.Signal(t, signal)
		run.Exit(t)
		// Namespaces, and what connects them, are gone with the last of their processes.
		for _, pid := range []int{caller, callee} {
			harness.WaitFor(t, fmt.Sprintf("%v ends the sidecars", signal), func() bool {
				_, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)) // nobody may wait for those who have ended
				return err != nil
			})
		}
		if _, err := os.Stat(dir); signal != syscall.SIGKILL && !os.IsNotExist(err) {
			t.Errorf("%v: got %v of the temporary folder, want that it is gone", signal, err)
		}
	}
}
