//go:build images

// Package images_test runs the images as a pod: the init step, the sidecar and an app in one network, with what the
// injector writes for them, no right more. `bash .ci/images` builds the images, starts an engine and runs this.
package images_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"graylane/test/harness"
)

// shop starts the pod, with two versions of the service that it calls and a caller of its own.
func shop(t *testing.T, port string, flags ...string) kubelet {
	t.Helper()
	manifest, err := os.ReadFile("testdata/pod.yaml")
	harness.Must(t, err)
	policy, err := filepath.Abs("testdata")
	harness.Must(t, err)
	e := newEngine(t)
	e.start("users-base", at(addressUsers, "users"), image("demo"), "app", "--name=users-base", "--listen=:8080")
	e.start("users-gray", at(addressGray, "users-gray"), image("demo"), "app", "--name=users-gray", "--listen=:8080")
	e.start("entry", at(addressEntry, "entry"), image("demo"), "app", "--name=entry", "--next=front:"+port, "--listen=:8080")
	k := kubelet{e, e.inject(strings.ReplaceAll(string(manifest), "graylane/demo", image("demo")), flags...), policy}
	k.start()
	return k
}

// tags are what each hop of a request for /headers says of its tag.
func tags(page string) map[string]string {
	all := map[string]string{}
	var who string
	for line := range strings.Lines(page) {
		line = strings.TrimRight(line, "\n")
		if !strings.HasPrefix(line, " ") {
			who = line
		} else if tag, ok := strings.CutPrefix(line, "  X-Gray: "); ok {
			all[who] = tag
		}
	}
	return all
}

func TestThePodRoutesWithWhatTheInjectorWrites(t *testing.T) {
	tests := []struct {
		intercept string
		port      string // that callers use
	}{
		{"redirect", "8080"},
		{"proxy-env", "15006"},
	}
	for _, tt := range tests {
		t.Run(tt.intercept, func(t *testing.T) {
			k := shop(t, tt.port, "--intercept="+tt.intercept)
			status, page := harness.Page("http://" + addressEntry + ":8080/")
			if want := "entry -> front -> users-base\n"; status != http.StatusOK || page != want {
				t.Errorf("/: got %d %q, want 200 %q", status, page, want)
			}
			status, page = harness.Page("http://" + addressEntry + ":8080/headers")
			want := map[string]string{"entry": "", "front": "gray", "users-gray": "gray"}
			if diff := cmp.Diff(tags(page), want); status != http.StatusOK || diff != "" {
				t.Errorf("/headers: status %d, tags (got -, want +):\n%s", status, diff)
			}
			k.wantNoRights(k.sidecar())
			k.wantCounted("inbound", "front")
			k.wantCounted("outbound", "users")
			k.stop()
		})
	}
}

// wantNoRights wants the kernel to hold a container's process as tightly as the injector says.
func (k kubelet) wantNoRights(c corev1.Container) {
	k.t.Helper()
	text, err := os.ReadFile("/proc/" + k.must("inspect", "--format", "{{.State.Pid}}", k.name(c.Name)) + "/status")
	harness.Must(k.t, err)
	got := map[string]string{}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":\t")
		got[name] = value
	}
	user := fmt.Sprint(*c.SecurityContext.RunAsUser)
	for name, want := range map[string]string{
		"Uid":        strings.Join([]string{user, user, user, user}, "\t"),
		"CapBnd":     "0000000000000000", // what it could ever get
		"NoNewPrivs": "1",
		"Seccomp":    "2", // a filter, seccomp(2)
	} {
		if got[name] != want {
			k.t.Errorf("%s: %s is %q, want %q", c.Name, name, got[name], want)
		}
	}
}

// wantCounted wants base and gray requests for a service in the sidecar's metrics.
func (k kubelet) wantCounted(direction, service string) {
	k.t.Helper()
	harness.WaitFor(k.t, fmt.Sprintf("a base and a gray request %s of %s are counted", direction, service), func() bool {
		_, page := harness.Page("http://" + addressFront + ":15021/metrics")
		counted := 0
		for line := range strings.Lines(page) {
			if strings.HasPrefix(line, "graylane_requests_total{") && strings.Contains(line, fmt.Sprintf("direction=%q", direction)) &&
				strings.Contains(line, fmt.Sprintf("service=%q", service)) {
				counted++
			}
		}
		return counted == 2
	})
}

// stop ends the pod as a kubelet does: the sidecar's preStop hook, the app, and then the sidecar.
func (k kubelet) stop() {
	k.t.Helper()
	sidecar := k.sidecar()
	name := k.name(sidecar.Name)
	k.must(append([]string{"exec", name}, sidecar.Lifecycle.PreStop.Exec.Command...)...)
	if status, page := harness.Page(address(sidecar.ReadinessProbe)); status != http.StatusServiceUnavailable {
		k.t.Errorf("/ready after the preStop hook: got %d %q, want 503", status, page)
	}
	k.must("stop", k.name("app"))
	k.must("stop", name)
	if code := k.must("inspect", "--format", "{{.State.ExitCode}}", name); code != "0" {
		k.t.Errorf("the sidecar ended with %s, want 0", code)
	}
}

func TestTheInitStepNeedsNetAdminAndSaysSo(t *testing.T) {
	e := newEngine(t)
	_, err := e.run("run", "--rm", "--network", network, "--user", "0:0", "--cap-drop", "ALL", "--read-only", image("sidecar"), "redirect", "--uid=1337")
	if err == nil || !strings.Contains(err.Error(), "NET_ADMIN") {
		t.Errorf("got %v, want an error that names NET_ADMIN", err)
	}
}
