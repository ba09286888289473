package e2e

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"graylane/test/harness"
)

// No service but the last has a gray version in these meshes: where the app runs in a gray pod, the pod's own tag would do.
func lastIsGray(flags ...string) shape {
	return shape{services: shop(baseOnly, baseOnly, both), rules: testers, flags: flags}
}

const (
	servedGray = "front-base orders-base users-gray"
	servedBase = "front-base orders-base users-base"
)

func TestTagSurvivesAppsThatForwardOneTraceHeader(t *testing.T) {
	m := newMesh(t, lastIsGray())
	for _, name := range traceHeaders {
		t.Run(name, func(t *testing.T) {
			query := "forward=" + url.QueryEscape(name)
			gray := m.outside().get(query, "X-User-Id", "1", name, traceValue(name, randomID()))
			base := m.outside().get(query, "X-User-Id", "9", name, traceValue(name, randomID()))
			checkPath(t, gray, servedGray)
			checkPath(t, base, servedBase)
		})
	}
}

func TestTagSurvivesWithIDsMadeByTheSidecar(t *testing.T) {
	m := newMesh(t, lastIsGray("--trace-make", strings.Join(traceHeaders, ",")))
	for _, name := range traceHeaders {
		t.Run(name, func(t *testing.T) {
			query := "forward=" + url.QueryEscape(name)
			checkPath(t, m.outside().get(query, "X-User-Id", "2"), servedGray)
			checkPath(t, m.outside().get(query, "X-User-Id", "8"), servedBase)
		})
	}
}

func TestSidecarLearnsWhichTraceHeaderTheAppSpeaks(t *testing.T) {
	m := newMesh(t, lastIsGray())
	for _, name := range traceHeaders {
		t.Run(name, func(t *testing.T) {
			query := "forward=" + url.QueryEscape(name) + "&own=" + url.QueryEscape(name)
			harness.WaitFor(t, "the tag survives", func() bool {
				return m.outside().get(query, "X-User-Id", "3").path() == servedGray
			})
			for range 20 {
				checkPath(t, m.outside().get(query, "X-User-Id", "3"), servedGray)
				checkPath(t, m.outside().get(query, "X-User-Id", "7"), servedBase)
			}
		})
	}
}

func TestTagIsLostWhereTheAppForwardsNothing(t *testing.T) {
	m := newMesh(t, lastIsGray())
	checkPath(t, m.outside().get("forward=X-None", "X-User-Id", "1"), servedBase)
}

func TestOverlappingRequestsInOneAppDoNotSwapTags(t *testing.T) {
	m := newMesh(t, lastIsGray())
	outside := m.outside()
	// Requests 2n and 2n+1 are a pair: each app holds the first until it has the second, then both call on.
	harness.InParallel(t, 400, func(i int) error {
		user, want := "1", servedGray
		if i%2 == 0 {
			user, want = "9", servedBase
		}
		answer, err := outside.send(fmt.Sprintf("at=front&pair=%d", i/2), "X-User-Id", user)
		if err != nil {
			return err
		}
		if got := answer.path(); got != want {
			return fmt.Errorf("user %s is served by %q, want %q", user, got, want)
		}
		return nil
	})
}

func checkPath(t *testing.T, answer *hop, want string) {
	t.Helper()
	if got := answer.path(); got != want {
		t.Errorf("served by %q, want %q", got, want)
	}
}
