package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"graylane/test/harness"
)

// An event brings a policy in force within a second. A single one may take longer: then the limit is late, which is still
// well inside the five seconds of the re-read, which would hide that no event came.
const (
	promptly = time.Second
	late     = 3 * time.Second
)

// TestPolicyIsReloaded changes a policy in every way that a file is changed.
// Each way ends with the policy `want` in force.
func TestPolicyIsReloaded(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(t *testing.T, path, want string)
	}{
		{"rewritten in place", func(t *testing.T, path, want string) {
			harness.WriteFile(t, path, want)
		}},
		{"saved by rename", func(t *testing.T, path, want string) {
			harness.PolicyFile(path).Write(t, want)
		}},
		{"deleted and restored", func(t *testing.T, path, want string) {
			harness.Must(t, os.Remove(path))
			harness.WriteFile(t, path, want)
		}},
		{"moved away and back", func(t *testing.T, path, want string) {
			harness.Must(t, os.Rename(path, path+".bak"))
			harness.WriteFile(t, path+".bak", want)
			harness.Must(t, os.Rename(path+".bak", path))
		}},
		{"directory replaced", func(t *testing.T, path, want string) {
			dir := filepath.Dir(path)
			harness.Must(t, os.Rename(dir, filepath.Join(t.TempDir(), "old")))
			harness.Must(t, os.Mkdir(dir, 0o755))
			harness.WriteFile(t, path, want)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			harness.Once(t, func() error {
				r := newReload(t, filepath.Join(t.TempDir(), "policy", "policy.yaml"))
				for i := range 5 {
					r.inForceAfter(fmt.Sprint(i), func(want string) { c.change(t, r.path, want) })
				}
				return r.late()
			})
		})
	}
}

func TestConfigMapUpdateIsReloaded(t *testing.T) {
	harness.Once(t, func() error { return reloadedFromConfigMap(t) })
}

func reloadedFromConfigMap(t *testing.T) error {
	t.Helper()
	r := newReload(t, filepath.Join(t.TempDir(), "mount", "policy.yaml"))
	dir := filepath.Dir(r.path)
	harness.Must(t, os.Remove(r.path))
	// As the kubelet lays out a mount: policy.yaml -> ..data/policy.yaml, ..data -> a folder for each generation.
	publish := func(generation, want string) {
		harness.Must(t, os.Mkdir(filepath.Join(dir, generation), 0o755))
		harness.WriteFile(t, filepath.Join(dir, generation, "policy.yaml"), want)
		harness.Must(t, os.Symlink(generation, filepath.Join(dir, "..data_tmp")))
		harness.Must(t, os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")))
	}
	r.inForceAfter("0", func(want string) {
		publish("..gen0", want)
		harness.Must(t, os.Symlink(filepath.Join("..data", "policy.yaml"), r.path))
	})
	for i := 1; i < 5; i++ {
		r.inForceAfter(fmt.Sprint(i), func(want string) {
			publish(fmt.Sprintf("..gen%d", i), want)
			harness.Must(t, os.RemoveAll(filepath.Join(dir, fmt.Sprintf("..gen%d", i-1))))
		})
	}
	return r.late()
}

func TestBadPolicyChangesNothing(t *testing.T) {
	for _, c := range []struct {
		name, text string
		logged     string
	}{
		{"broken", "apiVersion: graylane.dev/v1\nrules: [2\n", "policy.yaml:"},
		{"unknown key", "apiVersion: graylane.dev/v1\nruels: []\n", "policy.yaml:2:1"},
		{"empty", "", "policy.yaml"},
	} {
		t.Run(c.name, func(t *testing.T) {
			harness.Once(t, func() error {
				r := newReload(t, filepath.Join(t.TempDir(), "policy", "policy.yaml"))
				before := r.Policy(t).Digest
				harness.WriteFile(t, r.path, c.text)
				r.badPolicyIsNoticed()
				if got := r.Policy(t).Digest; got != before {
					t.Errorf("policy in force is %q, want the last good one, %q", got, before)
				}
				r.checkRouting(true)
				harness.WaitFor(t, "the log names the place: "+c.logged, func() bool { return strings.Contains(r.Log.String(), c.logged) })
				r.inForceAfter("mended", func(want string) { harness.WriteFile(t, r.path, want) })
				harness.WaitFor(t, "graylane_policy_valid is 1", func() bool { return r.Metric(t, "graylane_policy_valid") == 1 })
				return r.late()
			})
		})
	}
	t.Run("deleted", func(t *testing.T) {
		harness.Once(t, func() error {
			r := newReload(t, filepath.Join(t.TempDir(), "policy", "policy.yaml"))
			harness.Must(t, os.Remove(r.path))
			r.badPolicyIsNoticed()
			r.checkRouting(true)
			r.inForceAfter("restored", func(want string) { harness.WriteFile(t, r.path, want) })
			return r.late()
		})
	})
}

func TestStartWithoutPolicy(t *testing.T) {
	r := prepareReload(t, filepath.Join(t.TempDir(), "policy", "policy.yaml"))
	r.Sidecar = harness.StartSidecar(t, "sidecar", r.path)
	health := "http://" + r.Health
	harness.WaitFor(t, "/ready names the policy", func() bool {
		status, body := harness.Page(health + "/ready")
		return status == http.StatusServiceUnavailable && strings.Contains(body, "policy")
	})
	if status, body := harness.Page(health + "/live"); status != http.StatusOK {
		t.Errorf("/live answers %d %s, want 200: a bad policy must not restart the pod", status, body)
	}
	if _, err := through(t, r.Sidecar, "users").send(""); err == nil || !strings.Contains(err.Error(), "status 503") {
		t.Errorf("a call without a policy gives %v, want status 503", err)
	}
	harness.WriteFile(t, r.path, r.policyWith("first", true))
	r.WaitReady(t)
	r.checkRouting(true)
}

func TestLastGoodPolicySurvivesARestart(t *testing.T) {
	r := prepareReload(t, filepath.Join(t.TempDir(), "policy", "policy.yaml"))
	state := filepath.Join(t.TempDir(), "state")
	good := r.policyWith("good", true)
	harness.WriteFile(t, r.path, good)

	r.Sidecar = harness.StartSidecar(t, "first sidecar", r.path, "--state", state).WaitReady(t)
	r.checkRouting(true)
	r.Signal(t, syscall.SIGTERM)
	if code := r.Exit(t); code != 0 {
		t.Errorf("exit code after SIGTERM is %d, want 0", code)
	}

	harness.WriteFile(t, r.path, "broken")
	r.Sidecar = harness.StartSidecar(t, "second sidecar", r.path, "--state", state).WaitReady(t)
	if got, want := r.Policy(t).Digest, harness.Digest(good); got != want {
		t.Errorf("policy in force is %q, want the last good one, %q", got, want)
	}
	r.checkRouting(true)
}

// reload is one sidecar before two apps, users-base and users-gray.
type reload struct {
	*harness.Sidecar
	t          testing.TB
	path       string // of the policy
	base, gray string // addresses of the apps
	took       []time.Duration
}

// prepareReload makes everything but the sidecar and the policy.
func prepareReload(t testing.TB, path string) *reload {
	t.Helper()
	r := &reload{t: t, path: path, base: harness.FreeAddress(t), gray: harness.FreeAddress(t)}
	harness.Must(t, os.Mkdir(filepath.Dir(path), 0o755))
	for tag, address := range map[string]string{"base": r.base, "gray": r.gray} {
		startApp(t, &app{Service: "users", Tag: tag, Pod: "users-" + tag, Listen: address})
		p := &pod{name: "users-" + tag, appAddress: address}
		p.waitApp(t)
	}
	return r
}

// newReload has a policy in force that sends user 1 to gray.
func newReload(t testing.TB, path string) *reload {
	t.Helper()
	r := prepareReload(t, path)
	harness.WriteFile(t, path, r.policyWith("start", true))
	r.Sidecar = harness.StartSidecar(t, "sidecar", path).WaitReady(t)
	r.checkRouting(true)
	return r
}

// policyWith is a policy of some generation, which makes its digest its own; user 1 is gray or not.
func (r *reload) policyWith(generation string, gray bool) string {
	user := "nobody"
	if gray {
		user = "1"
	}
	return fmt.Sprintf(`apiVersion: graylane.dev/v1
rules:
  - name: generation-%s
    tag: gray
    matches:
      - headers: [{name: X-User-Id, values: [%q]}]
services:
  - name: users
    hosts: [users]
    versions:
      - {tag: base, endpoints: [%q]}
      - {tag: gray, endpoints: [%q]}
`, generation, user, r.base, r.gray)
}

// inForceAfter waits until a policy that makes nobody gray is in force after the change.
func (r *reload) inForceAfter(generation string, change func(want string)) {
	r.t.Helper()
	want := r.policyWith(generation, false)
	change(want)
	took := harness.WaitFor(r.t, "the policy is in force", func() bool { return r.Policy(r.t).Digest == harness.Digest(want) })
	r.took = append(r.took, took)
	r.checkRouting(false)
}

// late says whether a policy came in force late, or half of several not promptly.
func (r *reload) late() error {
	slices.Sort(r.took)
	r.t.Logf("policies in force after %v", r.took)
	if worst := r.took[len(r.took)-1]; worst > late {
		return fmt.Errorf("a policy was in force after %v, want %v at most", worst, late)
	}
	if median := r.took[len(r.took)/2]; len(r.took) > 1 && median > promptly {
		return fmt.Errorf("half of the policies were in force after %v or later, want %v at most", median, promptly)
	}
	return nil
}

// badPolicyIsNoticed waits until the metrics tell that the file is bad.
func (r *reload) badPolicyIsNoticed() {
	r.t.Helper()
	harness.WaitFor(r.t, "graylane_policy_valid is 0", func() bool {
		_, body := harness.Page("http://" + r.Health + "/metrics")
		return strings.Contains(body, "graylane_policy_valid 0")
	})
}

// checkRouting sends user 1 and user 2 by the policy in force.
func (r *reload) checkRouting(gray bool) {
	r.t.Helper()
	want := "base"
	if gray {
		want = "gray"
	}
	if got := through(r.t, r.Sidecar, "users").get("", "X-User-Id", "1").Tag; got != want {
		r.t.Errorf("user 1 is served by %s, want %s", got, want)
	}
	if got := through(r.t, r.Sidecar, "users").get("", "X-User-Id", "2").Tag; got != "base" {
		r.t.Errorf("user 2 is served by %s, want base", got)
	}
}
