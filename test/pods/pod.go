package pods

import (
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"slices"
	"strconv"
	"syscall"
	"testing"

	"graylane/test/harness"
	"graylane/test/netns"
)

// The users that a pod's processes belong to.
const (
	AppUser     = 1000
	SidecarUser = 1337
)

// Pod is a sidecar, and what a test starts beside it, in a network of their own.
type Pod struct {
	*netns.Space
	Name        string
	Addr, Addr6 string
	Sidecar     *harness.Process

	cluster *Cluster
}

// Config is what differs between pods.
type Config struct {
	Service, Tag string
	Flags        []string // more flags of the sidecar
	Redirect     []string // more flags of `sidecar redirect`
}

// Start makes a pod as a kubelet does: network, init container, sidecar. Apps are up to the test: it serves and calls in
// the pod's namespace itself, or by Launch.
func (c *Cluster) Start(t testing.TB, name string, cfg Config) *Pod {
	t.Helper()
	n := len(c.pods) + 1
	p := &Pod{Space: netns.New(t, name), Name: name, Addr: fmt.Sprintf("10.1.0.%d", n), Addr6: fmt.Sprintf("fd01::%d", n), cluster: c}
	c.pods = append(c.pods, p)
	c.plug(t, p.Space, name, p.Addr, p.Addr6)
	binary := harness.Binary(t)
	// The race detector would wait a second at the end of each command.
	p.Run(t, "env", slices.Concat([]string{"GORACE=atexit_sleep_ms=0", binary, "redirect"}, cfg.Redirect)...)
	p.Sidecar = p.Launch(t, name+"'s sidecar", SidecarUser, exec.Command(binary, slices.Concat([]string{
		"run", "--policy", c.policy, "--service", cfg.Service, "--tag", cfg.Tag, "--grace", "0s", "--drain", "5s", "--access-log",
		"--log-level", "debug",
	}, cfg.Flags)...))
	harness.WaitFor(t, "the sidecar of "+name+" listens", func() bool {
		if p.Sidecar.Ended() {
			t.Fatalf("the sidecar of %s has ended", name)
		}
		status, _ := p.health(t, "/live")
		return status == http.StatusOK
	})
	return p
}

// Launch runs a program in the pod, as a user without any capability, until the test ends.
func (p *Pod) Launch(t testing.TB, name string, user uint32, cmd *exec.Cmd) *harness.Process {
	t.Helper()
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Credential: &syscall.Credential{Uid: user, Gid: user}, Pdeathsig: syscall.SIGKILL,
	}
	return harness.Launch(t, name, cmd, func() error { return p.Do(cmd.Start) })
}

// At is a port of the pod by each of its addresses.
func (p *Pod) At(port int) []string {
	return []string{net.JoinHostPort(p.Addr, strconv.Itoa(port)), net.JoinHostPort(p.Addr6, strconv.Itoa(port))}
}

// Metric sums the samples of one metric of the sidecar whose labels hold all the given ones.
func (p *Pod) Metric(t testing.TB, name string, labels ...string) float64 {
	t.Helper()
	_, page := p.health(t, "/metrics")
	return harness.Sum(t, page, name, labels...)
}

// health gets a page for kubelets and Prometheus.
func (p *Pod) health(t testing.TB, path string) (status int, body string) {
	t.Helper()
	return Get(t, p.cluster.Client, 0, "http://"+p.Addr+":15021"+path)
}
