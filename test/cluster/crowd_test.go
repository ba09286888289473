//go:build cluster

package cluster_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"graylane/test/harness"
)

// crowd is a pod that sends users to the shop, all the time, and tells what became of them.
type crowd struct {
	*kube
	namespace, pod string
}

// tally is what `demo visit` tells.
type tally struct {
	Sent, Failed, Leaked int
	Paths                map[string]int
	Faults               []string
}

const crowdPort = 8080

// crowds come by two ways: from outside, by the Service as an Ingress would, and from inside, as a service with sidecar.
func (s *story) crowds() []crowd {
	return []crowd{{s.kube, nsOutside, "visitors"}, {s.kube, nsShop, "visitors"}}
}

func (s *story) startCrowds(t *testing.T) {
	t.Helper()
	urls := map[string]string{nsOutside: "http://front.shop/", nsShop: "http://front/"}
	for _, c := range s.crowds() {
		s.feed(t, s.visitors(t, c, urls[c.namespace]), "apply", "-f", "-")
	}
	for _, c := range s.crowds() {
		s.run(t, "-n", c.namespace, "wait", "--for=condition=Ready", "pod/"+c.pod, "--timeout="+clusterPatience)
		c.waitForCalm(t)
	}
}

func (s *story) visitors(t *testing.T, c crowd, url string, args ...string) string {
	t.Helper()
	pod := parse(t, fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: %s, namespace: %s, labels: {app: visitors}}
spec:
  restartPolicy: Never
  terminationGracePeriodSeconds: 1
  containers:
    - name: app
      image: graylane/demo:dev
      args: [visit, "--listen=:%d", "--gray=1,2,3,4", --pace=100ms]
      ports: [{containerPort: %d}]
      readinessProbe: {tcpSocket: {port: %d}, periodSeconds: 1}
      securityContext:
        allowPrivilegeEscalation: false
        runAsNonRoot: true
        capabilities: {drop: [ALL]}
        seccompProfile: {type: RuntimeDefault}
`, c.pod, c.namespace, crowdPort, crowdPort, crowdPort))
	container := at(pod[0], "spec")["containers"].([]any)[0].(object)
	for _, arg := range append(args, url) {
		container["args"] = append(container["args"].([]any), arg)
	}
	return write(t, s.withImages(pod, s.tag))
}

func (s *story) stopCrowds(t *testing.T) {
	t.Helper()
	for _, c := range s.crowds() {
		s.run(t, "-n", c.namespace, "delete", "pod", c.pod, "--timeout="+clusterPatience)
	}
}

func (c crowd) read() (tally, error) {
	var now tally
	text, err := c.fetchPod(c.namespace, c.pod, crowdPort, "/")
	if err == nil {
		err = json.Unmarshal(text, &now)
	}
	return now, err
}

func (c crowd) tally(t testing.TB) tally {
	t.Helper()
	var now tally
	harness.WaitWithin(t, time.Minute, c.namespace+": the crowd tells its tally", func() bool {
		var err error
		now, err = c.read()
		return err == nil
	})
	return now
}

// waitForMore returns when so many more visits are over.
func (c crowd) waitForMore(t testing.TB, visits int) {
	t.Helper()
	begin := c.tally(t).Sent
	harness.WaitWithin(t, 2*time.Minute, c.namespace+": more visits are over", func() bool {
		now, err := c.read()
		return err == nil && now.Sent >= begin+visits
	})
}

// waitForCalm returns when visits in a row have all gone well. In a shop that has just started they do when DNS tells of the
// pods that have become ready.
func (c crowd) waitForCalm(t testing.TB) {
	t.Helper()
	harness.WaitWithin(t, 2*time.Minute, c.namespace+": visits go well", func() bool {
		before := c.tally(t)
		c.waitForMore(t, 36)
		return c.tally(t).since(before).Failed == 0
	})
}

// since is what has come since an earlier tally.
func (now tally) since(then tally) tally {
	diff := tally{Sent: now.Sent - then.Sent, Failed: now.Failed - then.Failed, Leaked: now.Leaked - then.Leaked, Paths: map[string]int{}}
	for path, n := range now.Paths {
		if n > then.Paths[path] {
			diff.Paths[path] = n - then.Paths[path]
		}
	}
	if faults := diff.Failed + diff.Leaked; faults > 0 {
		diff.Faults = now.Faults[max(0, len(now.Faults)-faults):]
	}
	return diff
}

// add puts two tallies together.
func (now tally) add(other tally) tally {
	sum := tally{now.Sent + other.Sent, now.Failed + other.Failed, now.Leaked + other.Leaked, map[string]int{}, append(now.Faults, other.Faults...)}
	for _, paths := range []map[string]int{now.Paths, other.Paths} {
		for path, n := range paths {
			sum.Paths[path] += n
		}
	}
	return sum
}

// underLoad does something while both crowds come, and gives what became of them until some time after it.
func (s *story) underLoad(t *testing.T, what string, act func()) tally {
	t.Helper()
	var before []tally
	for _, c := range s.crowds() {
		before = append(before, c.tally(t))
	}
	begin := time.Now()
	act()
	took := time.Since(begin)
	var sum tally
	for i, c := range s.crowds() {
		c.waitForMore(t, 100)
		sum = sum.add(c.tally(t).since(before[i]))
	}
	s.report.note(what, "%d requests, %d failed, %d leaked, in %.0f s", sum.Sent, sum.Failed, sum.Leaked, took.Seconds())
	if sum.Leaked > 0 {
		t.Errorf("%d requests leaked", sum.Leaked)
	}
	if len(sum.Faults) > 0 {
		t.Logf("what failed or leaked:\n%s", strings.Join(sum.Faults, "\n"))
	}
	return sum
}

// losesNone is underLoad where no request may fail.
func (s *story) losesNone(t *testing.T, what string, act func()) {
	t.Helper()
	if sum := s.underLoad(t, what, act); sum.Failed > 0 {
		t.Errorf("%d of %d requests failed, want none", sum.Failed, sum.Sent)
	}
}
