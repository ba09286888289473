package e2e

import (
	"strings"
	"testing"

	"graylane/test/harness"
)

// TestDemoLeavesNothingBehindWhenKilled: Linux ends its children with it.
func TestDemoLeavesNothingBehindWhenKilled(t *testing.T) {
	demo, portBase, _ := startDemo(t)
	harness.WaitWithin(t, demoPatience, "the show begins", func() bool {
		if demo.Ended() {
			t.Fatal("the demo ended")
		}
		return strings.Contains(demo.Log.String(), "\n1. ")
	})
	demo.Kill()
	checkNothingListens(t, portBase)
}
