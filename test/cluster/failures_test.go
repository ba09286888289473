//go:build cluster

package cluster_test

import (
	"os/exec"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"graylane/test/harness"
)

// starveApp lets an app take more memory than it may.
func (s *story) starveApp(t *testing.T) {
	s.run(t, "-n", nsShop, "set", "resources", "deployment/users-base", "-c", "app", "--limits=memory=100Mi")
	s.settle(t, nsShop)
	victim := s.pods(t, nsShop, "app=users,graylane.dev/tag=base")[0]
	s.underLoad(t, "an app out of memory", func() {
		// The answer is the sidecar's or none at all: the app dies on it.
		if page, err := s.fetchPod(nsShop, victim.Name, 8080, "/hog"); err == nil {
			t.Errorf("the app answered %q, want it out of memory", page)
		}
		s.waitForPod(t, victim.Name, "the app has been started again", func(pod corev1.Pod) bool {
			return appStatus(pod).RestartCount > 0 && appStatus(pod).Ready
		})
	})
	after := s.pod(t, nsShop, victim.Name)
	if end := appStatus(after).LastTerminationState.Terminated; end == nil || end.Reason != "OOMKilled" {
		t.Errorf("the app ended by %+v, want OOMKilled", end)
	}
	if n := sidecarStatus(after).RestartCount; n != 0 {
		t.Errorf("the sidecar was started again %d times, want none", n)
	}
}

func (s *story) waitForPod(t *testing.T, name, what string, holds func(corev1.Pod) bool) {
	t.Helper()
	harness.WaitWithin(t, 2*time.Minute, name+": "+what, func() bool { return holds(s.pod(t, nsShop, name)) })
}

// crashSidecar ends the sidecar in the middle of a chain by a signal that it does not handle: no drain, no good-bye.
func (s *story) crashSidecar(t *testing.T) {
	victim := s.pods(t, nsShop, "app=orders,graylane.dev/tag=base")[0]
	var away time.Duration
	s.underLoad(t, "a sidecar crashes", func() {
		s.run(t, "-n", nsShop, "debug", victim.Name, "--image="+s.busybox, "--target=graylane", "--profile=general", "--", "kill", "-QUIT", "1")
		s.waitForPod(t, victim.Name, "the sidecar has been started again", func(pod corev1.Pod) bool {
			return sidecarStatus(pod).RestartCount > 0 && sidecarStatus(pod).Ready
		})
		after := s.pod(t, nsShop, victim.Name)
		if end := sidecarStatus(after).LastTerminationState.Terminated; end != nil {
			away = sidecarStatus(after).State.Running.StartedAt.Sub(end.FinishedAt.Time)
		}
		if n := appStatus(after).RestartCount; n != 0 {
			t.Errorf("the app was started again %d times, want none", n)
		}
	})
	s.report.note("the crashed sidecar was away for", "%.0f s", away.Seconds())
	s.losesNone(t, "after the crash", func() {
		for _, c := range s.crowds() {
			c.waitForMore(t, 100)
		}
	})
}

// withoutAPI takes the API server away for a while.
func (s *story) withoutAPI(t *testing.T) {
	const away = 30 * time.Second
	s.losesNone(t, "without API server", func() {
		shell(t, s.stopAPI)
		t.Cleanup(func() { shell(t, s.startAPI) }) // again, if the test has ended before
		if _, err := s.fetch("/readyz"); err == nil {
			t.Error("the API server answers though it was taken away")
		}
		time.Sleep(away)
		shell(t, s.startAPI)
	})
}

func shell(t *testing.T, line string) {
	t.Helper()
	if text, err := exec.Command("sh", "-c", line).CombinedOutput(); err != nil {
		t.Errorf("%s: %v: %s", line, err, text)
	}
}
