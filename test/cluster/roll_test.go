//go:build cluster

package cluster_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"graylane/test/harness"
)

// rollApps restarts both versions of every service, as docs/kubernetes.md has it.
func (s *story) rollApps(t *testing.T) {
	for _, tag := range []string{"base", "gray"} {
		s.losesNone(t, "rollout restart of "+tag, func() {
			s.run(t, "-n", nsShop, "rollout", "restart", "deployment/front-"+tag, "deployment/orders-"+tag, "deployment/users-"+tag)
			s.settle(t, nsShop)
		})
	}
}

// upgradeApps brings another image of the app, one version after the other.
func (s *story) upgradeApps(t *testing.T) {
	for _, tag := range []string{"gray", "base"} {
		s.losesNone(t, "new image of the apps of "+tag, func() {
			for _, service := range []string{"front", "orders", "users"} {
				s.run(t, "-n", nsShop, "set", "image", "deployment/"+service+"-"+tag, "app="+s.image("demo", s.next))
			}
			s.settle(t, nsShop)
		})
	}
}

func (s *story) upgradeSidecars(t *testing.T, by installer) {
	s.use(t, by, s.next)
	s.losesNone(t, "upgrade of the sidecar, "+by.name(), func() {
		s.run(t, "-n", nsShop, "rollout", "restart", "deployment")
		s.settle(t, nsShop)
	})
	for _, pod := range s.pods(t, nsShop, "app!=visitors") {
		s.seeNativeSidecar(t, pod)
	}
}

// evict drains every pod of the shop as `kubectl drain` does, pod by pod with the Eviction API; budgets hold it up. No node
// is drained: there may be but one.
func (s *story) evict(t *testing.T) {
	for _, service := range []string{"front", "orders", "users"} {
		s.run(t, "-n", nsShop, "create", "poddisruptionbudget", service+"-base", "--selector=app="+service+",graylane.dev/tag=base", "--max-unavailable=1")
	}
	held := 0
	s.losesNone(t, "eviction of every pod", func() {
		for _, pod := range s.pods(t, nsShop, "app!=visitors") {
			if s.evictOne(t, pod.Name) {
				held++
			}
		}
		s.settle(t, nsShop)
	})
	s.report.note("evictions that a PodDisruptionBudget held up", "%d", held)
	s.run(t, "-n", nsShop, "delete", "poddisruptionbudget", "--all")
}

// evictOne tries until the budget allows it, and says whether that took more than one try.
func (s *story) evictOne(t *testing.T, pod string) (held bool) {
	t.Helper()
	eviction, err := json.Marshal(object{
		"apiVersion": "policy/v1", "kind": "Eviction", "metadata": object{"name": pod, "namespace": nsShop},
	})
	harness.Must(t, err)
	harness.WaitWithin(t, 2*time.Minute, "the eviction of "+pod+" is allowed", func() bool {
		_, err := s.try(string(eviction), "create", "--raw", "/api/v1/namespaces/"+nsShop+"/pods/"+pod+"/eviction", "-f", "-")
		if err == nil {
			return true
		}
		if !strings.Contains(err.Error(), "disruption budget") {
			t.Fatal(err)
		}
		held = true
		return false
	})
	return held
}
