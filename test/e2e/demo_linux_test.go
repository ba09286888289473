package e2e

import (
	"strings"
	"testing"
)

// TestDemoLeavesNothingBehindWhenKilled: Linux ends its children with it.
func TestDemoLeavesNothingBehindWhenKilled(t *testing.T) {
	demo, portBase, _ := startDemo(t)
	waitWithin(t, demoPatience, "the show begins", func() bool {
		if demo.ended() {
			t.Fatal("the demo ended")
		}
		return strings.Contains(demo.log.String(), "\n1. ")
	})
	demo.kill()
	checkNothingListens(t, portBase)
}
