package servers

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"graylane/test/harness"
	"graylane/test/pods"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// pair is two pods: one calls and one serves.
type pair struct{ caller, callee *pods.Pod }

// newPair starts them with a policy that has nothing to say about the servers.
func newPair(t *testing.T, flags ...string) pair {
	t.Helper()
	c := pods.NewCluster(t)
	p := pair{
		caller: c.Start(t, "orders-base", pods.Config{Service: "orders", Tag: "base", Flags: flags}),
		callee: c.Start(t, "users-base", pods.Config{Service: "users", Tag: "base", Flags: flags}),
	}
	c.Apply(t, fmt.Sprintf(`apiVersion: graylane.dev/v1
services:
  - {name: users, hosts: [users], versions: [{tag: base, endpoints: ["%s:8080"]}]}
`, p.callee.Addr))
	return p
}

// folder is one that the apps' user may write to, and that goes with the test.
func folder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	harness.Must(t, os.Chmod(filepath.Dir(dir), 0o755))
	harness.Must(t, os.Chown(dir, pods.AppUser, pods.AppUser))
	return dir
}

// run runs a client in the caller's pod to its end, and gives what it printed.
func (p pair) run(t *testing.T, stdin, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Stdin = strings.NewReader(stdin)
	client := p.caller.Launch(t, name, pods.AppUser, cmd)
	if code := client.Exit(t); code != 0 {
		t.Fatalf("%s %s ended with %d:\n%s", name, strings.Join(args, " "), code, client.Log)
	}
	return client.Log.String()
}

// serve runs a server in the callee's pod, and waits until it prints that it is up.
func (p pair) serve(t *testing.T, up, name string, args ...string) {
	t.Helper()
	server := p.callee.Launch(t, name, pods.AppUser, exec.Command(name, args...))
	harness.WaitFor(t, name+" is up", func() bool {
		if server.Ended() {
			t.Fatalf("%s has ended", name)
		}
		return strings.Contains(server.Log.String(), up)
	})
}

// wantRelayed wants that both sidecars have relayed a connection to a port of the callee.
func (p pair) wantRelayed(t *testing.T, addr string) {
	t.Helper()
	for _, pod := range []*pods.Pod{p.caller, p.callee} {
		harness.WaitFor(t, pod.Name+" logs a connection to "+addr, func() bool {
			for line := range strings.Lines(pod.Sidecar.Log.String()) {
				if strings.Contains(line, "protocol=tcp") && strings.Contains(line, "destination="+addr+" ") {
					return true
				}
			}
			return false
		})
	}
}
