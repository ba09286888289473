//go:build cluster

package cluster_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"graylane/test/harness"
)

// startShop has the policy find the pods by headless Services, as k8s/overlays/shop does.
func (s *story) startShop(t *testing.T) { s.start(t, s.rendered(t, "k8s/overlays/shop")) }

// startShopByClusterIPs has the policy name Services with an address of their own, behind which the cluster picks the pod:
// docs/kubernetes.md has it for clusters whose DNS keeps its answers.
func (s *story) startShopByClusterIPs(t *testing.T) {
	shop := s.rendered(t, "k8s/overlays/shop")
	for _, o := range shop {
		if o["kind"] == "Service" {
			delete(o["spec"].(object), "clusterIP")
		}
	}
	s.start(t, shop)
}

func (s *story) start(t *testing.T, shop []object) {
	t.Helper()
	begin := time.Now()
	s.applyChecked(t, s.withImages(shop, s.tag))
	s.settle(t, nsShop)
	s.report.note("shop ready after", "%s", seconds([]time.Duration{time.Since(begin)}))
	pods := s.pods(t, nsShop, "")
	if len(pods) != 9 {
		t.Errorf("%d pods, want 9", len(pods))
	}
	for _, pod := range pods {
		s.seeNativeSidecar(t, pod)
	}
	begin = time.Now()
	s.startCrowds(t)
	failed := 0
	for _, c := range s.crowds() {
		failed += c.tally(t).Failed
	}
	s.report.note("its first users", "%d failed, in %.0f s", failed, time.Since(begin).Seconds())
}

func (s *story) seeNativeSidecar(t *testing.T, pod corev1.Pod) {
	t.Helper()
	image := s.image("sidecar", s.current)
	at := slices.IndexFunc(pod.Spec.InitContainers, func(c corev1.Container) bool { return c.Name == "graylane" })
	if at < 0 {
		t.Errorf("%s has no sidecar", pod.Name)
		return
	}
	c := pod.Spec.InitContainers[at]
	if c.RestartPolicy == nil || *c.RestartPolicy != corev1.ContainerRestartPolicyAlways || c.Image != image {
		t.Errorf("%s: the sidecar is %s and no native one, or not %s", pod.Name, c.Image, image)
	}
	if !sidecarStatus(pod).Ready {
		t.Errorf("%s: the sidecar is not ready", pod.Name)
	}
}

func sidecarStatus(pod corev1.Pod) corev1.ContainerStatus {
	return statusOf(pod.Status.InitContainerStatuses, "graylane")
}
func appStatus(pod corev1.Pod) corev1.ContainerStatus {
	return statusOf(pod.Status.ContainerStatuses, "app")
}

func statusOf(all []corev1.ContainerStatus, name string) corev1.ContainerStatus {
	for _, c := range all {
		if c.Name == name {
			return c
		}
	}
	return corev1.ContainerStatus{}
}

// seeTable compares what every user meets with the policy: users 1, 2 and 3 are gray.
func (s *story) seeTable(t *testing.T) {
	for _, c := range s.crowds() {
		front := "gray"
		if c.namespace == nsOutside {
			front = "base" // which the Service selects, and which answers itself
		}
		before := c.tally(t)
		c.waitForMore(t, 120)
		got := c.tally(t).since(before)
		var want []string
		for user := 1; user <= 12; user++ {
			path := "base base base"
			if user <= 3 {
				path = front + " gray gray"
			}
			want = append(want, fmt.Sprint(user, " ", path))
		}
		slices.Sort(want)
		if paths := sortedKeys(got.Paths); !slices.Equal(paths, want) || got.Failed > 0 {
			t.Errorf("%s: users took %q and %d failed, want %q", c.namespace, paths, got.Failed, want)
		}
	}
	s.seeByPortForward(t)
}

func sortedKeys(m map[string]int) []string {
	var keys []string
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// seeByPortForward is what docs/kubernetes.md says to try.
func (s *story) seeByPortForward(t *testing.T) {
	t.Helper()
	address := s.forward(t, nsShop, "deployment/front-base", 15006)
	for user, want := range map[string]string{"1": "front-base -> orders-gray -> users-gray", "4": "front-base -> orders-base -> users-base"} {
		out, err := command("", "curl", "-sS", "http://"+address+"/", "-H", "Host: front", "-H", "X-User-Id: "+user)
		harness.Must(t, err)
		if got := strings.TrimSpace(out); got != want {
			t.Errorf("user %s: got %q, want %q", user, got, want)
		}
	}
}

// flagSpanning makes a Service that selects both versions of users.
func (s *story) flagSpanning(t *testing.T) {
	out, err := command("", s.injector, "status", "-n", nsShop)
	harness.Must(t, err)
	if !regexp.MustCompile(`\n10 sidecars obey the policy`).MatchString(out) || strings.Contains(out, "warning") {
		t.Errorf("status says\n%s\nwant 10 sidecars and no warning", out)
	}
	s.run(t, "-n", nsShop, "create", "service", "clusterip", "everybody", "--tcp=80:8080")
	s.run(t, "-n", nsShop, "set", "selector", "service", "everybody", "app=users")
	out, err = command("", s.injector, "status", "-n", nsShop)
	harness.Must(t, err)
	if want := "warning: service everybody selects pods of base and gray"; !strings.Contains(out, want) {
		t.Errorf("status says\n%s\nwant %q", out, want)
	}
	s.run(t, "-n", nsShop, "delete", "service", "everybody")
}

func (s *story) removeShop(t *testing.T) {
	s.stopCrowds(t)
	s.run(t, "delete", "-k", "k8s/overlays/shop", "--timeout="+clusterPatience)
}
