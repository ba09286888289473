package pods_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"graylane/test/harness"
	"graylane/test/netns"
)

const (
	appUser     = 1000
	sidecarUser = 1337
)

// cluster is a network of pods: a switch that all are connected to, which routes to service addresses too.
type cluster struct {
	node   *netns.Space
	client *netns.Space // a machine without a sidecar, for callers from outside and servers of strangers
	policy string       // path of the file that all sidecars read
	pods   int
}

const (
	clientAddr, clientAddr6 = "10.1.0.250", "fd01::250"
)

func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{node: netns.New(t, "node"), client: netns.New(t, "client")}
	c.node.Run(t, "ip", "link", "add", "br0", "type", "bridge")
	c.node.Run(t, "ip", "link", "set", "br0", "up")
	c.node.Address(t, "br0", "10.1.0.254/24", "fd01::254/64")
	c.node.Run(t, "sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1")
	// Where the kernel has this, it would route what the switch only passes on.
	c.node.Run(t, "sysctl", "-qew", "net.bridge.bridge-nf-call-iptables=0", "net.bridge.bridge-nf-call-ip6tables=0")
	c.plug(t, c.client, "client", clientAddr, clientAddr6)

	dir := t.TempDir()
	c.policy = filepath.Join(dir, "policy.yaml")
	for _, open := range []string{dir, filepath.Dir(dir), filepath.Dir(harness.Scratch("sidecar"))} {
		harness.Must(t, os.Chmod(open, 0o755)) // other users read there
	}
	return c
}

// plug connects a namespace to the switch.
func (c *cluster) plug(t *testing.T, s *netns.Space, name, addr, addr6 string) {
	t.Helper()
	c.node.Wire(t, name, s, "eth0")
	c.node.Run(t, "ip", "link", "set", name, "master", "br0")
	s.Address(t, "eth0", addr+"/24", addr6+"/64")
	s.Run(t, "ip", "route", "add", "default", "via", "10.1.0.254")
	s.Run(t, "ip", "route", "add", "default", "via", "fd01::254")
}

// write replaces the policy.
func (c *cluster) write(t *testing.T, text string) {
	t.Helper()
	beside := c.policy + "~"
	harness.Must(t, os.WriteFile(beside, []byte(text), 0o644))
	harness.Must(t, os.Rename(beside, c.policy))
}

// service makes an address, as a Kubernetes service has one, that leads to a pod.
func (c *cluster) service(t *testing.T, addr string, port int, p *pod, podPort int) {
	t.Helper()
	family, to := "ip", fmt.Sprintf("%s:%d", p.addr, podPort)
	if strings.Contains(addr, ":") {
		family, to = "ip6", fmt.Sprintf("[%s]:%d", p.addr6, podPort)
	}
	c.node.Run(t, "nft", "add table inet kube; "+
		"add chain inet kube services { type nat hook prerouting priority dstnat; }; "+
		"add chain inet kube back { type nat hook postrouting priority srcnat; }; "+
		fmt.Sprintf("add rule inet kube services %s daddr %s tcp dport %d dnat %s to %s; ", family, addr, port, family, to)+
		// Answers must come back through here, also to a pod that calls its own service.
		"flush chain inet kube back; add rule inet kube back ct status dnat masquerade")
}

// pod is an app and its sidecar in a network of their own.
type pod struct {
	*netns.Space
	name        string
	addr, addr6 string
	app         *harness.Process // nil: none was started
	sidecar     *harness.Process
}

// podConfig is what differs between pods.
type podConfig struct {
	service, tag string
	app          []string // arguments of the app; nil: the test serves itself in the pod's namespace
	flags        []string // more flags of the sidecar
	redirect     []string // more flags of `sidecar redirect`
}

// start makes a pod as a kubelet does: network, init container, sidecar, app.
func (c *cluster) start(t *testing.T, name string, cfg podConfig) *pod {
	t.Helper()
	c.pods++
	p := &pod{Space: netns.New(t, name), name: name, addr: fmt.Sprintf("10.1.0.%d", c.pods), addr6: fmt.Sprintf("fd01::%d", c.pods)}
	c.plug(t, p.Space, name, p.addr, p.addr6)
	binary := harness.Binary(t)
	p.Run(t, binary, slices.Concat([]string{"redirect"}, cfg.redirect)...)
	p.sidecar = p.launch(t, name+"'s sidecar", sidecarUser, nil, binary, slices.Concat([]string{
		"run", "--policy", c.policy, "--service", cfg.service, "--tag", cfg.tag, "--grace", "0s", "--drain", "5s", "--access-log",
		"--log-level", "debug",
	}, cfg.flags)...)
	if cfg.app != nil {
		arguments := appVariable + "=" + strings.Join(append([]string{"-name", name}, cfg.app...), " ")
		p.app = p.launch(t, name, appUser, []string{arguments}, "/proc/self/exe")
	}
	return p
}

// launch runs a program as a user without any capability.
func (p *pod) launch(t *testing.T, name string, user uint32, env []string, path string, args ...string) *harness.Process {
	t.Helper()
	if path == "/proc/self/exe" {
		self, err := os.Executable()
		harness.Must(t, err)
		path = readable(t, self)
	}
	cmd := exec.Command(path, args...)
	cmd.Env = append(cmd.Environ(), env...)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Credential: &syscall.Credential{Uid: user, Gid: user}, Pdeathsig: syscall.SIGKILL,
	}
	return harness.Launch(t, name, cmd, func() error { return p.Start(cmd) })
}

// readable gives a copy of this test's binary that other users may run: go test keeps it in a folder of ours alone.
func readable(t *testing.T, self string) string {
	t.Helper()
	path := harness.Scratch("app")
	if _, err := os.Stat(path); err == nil {
		return path
	}
	text, err := os.ReadFile(self)
	harness.Must(t, err)
	harness.Must(t, os.WriteFile(path, text, 0o755))
	return path
}

// ready waits until the sidecar has this policy, and the app serves.
func (c *cluster) ready(t *testing.T, policy string, pods ...*pod) {
	t.Helper()
	for _, p := range pods {
		harness.WaitFor(t, p.name+" has the policy", func() bool {
			if p.sidecar.Ended() {
				t.Fatalf("the sidecar of %s has ended", p.name)
			}
			return p.metric(t, c, "graylane_policy_info", `digest="`+harness.Digest(policy)+`"`) == 1
		})
		if p.app != nil {
			harness.WaitFor(t, p.name+"'s app serves", func() bool {
				status, _ := c.get(t, c.client, 0, "http://"+p.addr+":8080/headers")
				return status == http.StatusOK
			})
		}
	}
}

// client is an HTTP client of a user in a namespace, without connections of its own from one call to the next.
func client(t *testing.T, from *netns.Space, user int) *http.Client {
	return &http.Client{Timeout: harness.Patience, Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(_ context.Context, _, addr string) (net.Conn, error) {
			return from.Dial(t, user, addr)
		},
	}}
}

// get calls a URL, with headers given as name, value, name, value.
func (c *cluster) get(t *testing.T, from *netns.Space, user int, url string, headers ...string) (status int, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	harness.Must(t, err)
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			req.Host = headers[i+1]
		}
		req.Header.Add(headers[i], headers[i+1])
	}
	resp, err := client(t, from, user).Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return resp.StatusCode, err.Error()
	}
	return resp.StatusCode, string(data)
}

// metric sums the samples of one metric of a sidecar whose labels hold all the given ones.
func (p *pod) metric(t *testing.T, c *cluster, name string, labels ...string) float64 {
	t.Helper()
	_, body := c.get(t, c.client, 0, "http://"+p.addr+":15021/metrics")
	sum := 0.0
	for line := range strings.Lines(body) {
		rest, found := strings.CutPrefix(line, name)
		if !found || (rest[0] != '{' && rest[0] != ' ') {
			continue
		}
		end := strings.LastIndexByte(rest, ' ')
		set, value := rest[:end], strings.TrimSpace(rest[end:])
		if slices.ContainsFunc(labels, func(l string) bool { return !strings.Contains(set, l) }) {
			continue
		}
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			t.Fatalf("metric line %q: %v", line, err)
		}
		sum += n
	}
	return sum
}
