//go:build cluster

package cluster_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"graylane/test/harness"
)

// How often times are measured that differ from one try to the next. An edit may take a minute, and is done twice a round.
const (
	editRounds   = 2
	switchRounds = 5
)

// policy is what the ConfigMap has.
func (s *story) policy(t *testing.T) string {
	t.Helper()
	var c corev1.ConfigMap
	harness.Must(t, s.get("/api/v1/namespaces/"+nsShop+"/configmaps/graylane-policy", &c))
	return c.Data["policy.yaml"]
}

func (s *story) writePolicy(t *testing.T, text string) {
	t.Helper()
	patch, err := json.Marshal(object{"data": object{"policy.yaml": text}})
	harness.Must(t, err)
	s.run(t, "-n", nsShop, "patch", "configmap", "graylane-policy", "--type=merge", "-p", string(patch))
}

// waitUntilAllObey returns when every sidecar of the shop shows the digest of a policy.
func (s *story) waitUntilAllObey(t *testing.T, text string) {
	t.Helper()
	want := fmt.Sprintf(`graylane_policy_info{digest="%x"`, sha256.Sum256([]byte(text)))[:len(`graylane_policy_info{digest="`)+12]
	pods := s.pods(t, nsShop, "")
	harness.WaitWithin(t, 3*time.Minute, "every sidecar obeys the policy", func() bool {
		for _, pod := range pods {
			page, err := s.fetchPod(nsShop, pod.Name, 15021, "/metrics")
			if err != nil || !strings.Contains(string(page), want) {
				return false
			}
		}
		return true
	})
}

// editPolicy makes user 4 gray, and takes that back, as people do who edit the ConfigMap.
func (s *story) editPolicy(t *testing.T) {
	three := s.policy(t)
	four := strings.Replace(three, `["1", "2", "3"]`, `["1", "2", "3", "4"]`, 1)
	var took []time.Duration
	for range editRounds {
		for _, text := range []string{four, three} {
			s.writePolicy(t, text)
			begin := time.Now()
			s.waitUntilAllObey(t, text)
			took = append(took, time.Since(begin))
			if text == four {
				s.seeUserFour(t)
			}
		}
	}
	s.report.note("edit of the ConfigMap, until all pods agree", "%s", seconds(took))
}

// seeUserFour wants user 4 to be gray.
func (s *story) seeUserFour(t *testing.T) {
	t.Helper()
	for _, c := range s.crowds() {
		c.waitForMore(t, 24)
		before := c.tally(t)
		c.waitForMore(t, 48)
		for path := range c.tally(t).since(before).Paths {
			if strings.HasPrefix(path, "4 ") && !strings.HasSuffix(path, "gray gray") {
				t.Errorf("%s: user %s, want gray", c.namespace, path)
			}
		}
	}
}

// switchOffAndOn is `injector off` and `injector on`.
func (s *story) switchOffAndOn(t *testing.T) {
	obeyed := regexp.MustCompile(`^10 sidecars obey after ([0-9.]+) s\n$`)
	before := s.policy(t)
	took := map[string][]time.Duration{}
	for range switchRounds {
		for _, command := range []string{"off", "on"} {
			out := s.runInjector(t, command, "-n", nsShop)
			found := obeyed.FindStringSubmatch(out)
			if found == nil {
				t.Fatalf("injector %s says %q, want that 10 sidecars obey", command, out)
			}
			n, err := strconv.ParseFloat(found[1], 64)
			harness.Must(t, err)
			took[command] = append(took[command], time.Duration(n*float64(time.Second)))
			if command == "off" {
				s.seeNobodyGray(t)
			}
		}
	}
	s.report.note("injector off, until all pods obey", "%s", seconds(took["off"]))
	s.report.note("injector on, until all pods obey", "%s", seconds(took["on"]))
	if after := s.policy(t); after != before {
		t.Errorf("the policy is\n%s\nwant what it was:\n%s", after, before)
	}
}

func (s *story) runInjector(t *testing.T, args ...string) string {
	t.Helper()
	out, err := command("", s.injector, append(args, "--kubectl", s.kube.kubectl)...)
	harness.Must(t, err)
	return out
}

func (s *story) seeNobodyGray(t *testing.T) {
	t.Helper()
	for _, c := range s.crowds() {
		c.waitForMore(t, 12)
		before := c.tally(t)
		c.waitForMore(t, 24)
		for path := range c.tally(t).since(before).Paths {
			if strings.Contains(path, "gray") {
				t.Errorf("%s: user %s, want base alone", c.namespace, path)
			}
		}
	}
}
