package pods

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"graylane/test/harness"
	"graylane/test/netns"
)

// The addresses of Cluster.Client.
const (
	ClientAddr  = "10.1.0.250"
	ClientAddr6 = "fd01::250"
)

// Cluster is a network of pods: a switch that all are connected to, which routes to service addresses too.
type Cluster struct {
	Client *netns.Space // a machine without a sidecar, for callers from outside and servers of strangers

	node   *netns.Space
	policy string // path of the file that all sidecars read
	pods   []*Pod
}

// NewCluster makes one without pods, and without a policy. It ends with the test.
func NewCluster(t testing.TB) *Cluster {
	t.Helper()
	c := &Cluster{node: netns.New(t, "node"), Client: netns.New(t, "client")}
	c.node.Run(t, "ip", "link", "add", "br0", "type", "bridge")
	c.node.Run(t, "ip", "link", "set", "br0", "up")
	c.node.Address(t, "br0", "10.1.0.254/24", "fd01::254/64")
	c.node.Run(t, "sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1")
	// Where the kernel has this, it would route what the switch only passes on.
	c.node.Run(t, "sysctl", "-qew", "net.bridge.bridge-nf-call-iptables=0", "net.bridge.bridge-nf-call-ip6tables=0")
	c.plug(t, c.Client, "client", ClientAddr, ClientAddr6)

	dir := t.TempDir()
	c.policy = filepath.Join(dir, "policy.yaml")
	harness.Must(t, os.Chmod(filepath.Dir(dir), 0o755)) // other users read there
	return c
}

// plug connects a namespace to the switch.
func (c *Cluster) plug(t testing.TB, s *netns.Space, name, addr, addr6 string) {
	t.Helper()
	c.node.Wire(t, name, s, "eth0")
	c.node.Run(t, "ip", "link", "set", name, "master", "br0")
	s.Address(t, "eth0", addr+"/24", addr6+"/64")
	s.Run(t, "ip", "route", "add", "default", "via", "10.1.0.254")
	s.Run(t, "ip", "route", "add", "default", "via", "fd01::254")
}

// Apply replaces the policy, and returns when every pod has it.
func (c *Cluster) Apply(t testing.TB, policy string) {
	t.Helper()
	beside := c.policy + "~"
	harness.Must(t, os.WriteFile(beside, []byte(policy), 0o644)) // other users read it
	harness.Must(t, os.Rename(beside, c.policy))
	for _, p := range c.pods {
		harness.WaitFor(t, p.Name+" has the policy", func() bool {
			if p.Sidecar.Ended() {
				t.Fatalf("the sidecar of %s has ended", p.Name)
			}
			return p.Metric(t, "graylane_policy_info", `digest="`+harness.Digest(policy)+`"`) == 1
		})
	}
}

// Service makes an address, as a Kubernetes service has one, that leads to a pod.
func (c *Cluster) Service(t testing.TB, addr string, port int, p *Pod, podPort int) {
	t.Helper()
	family, to := "ip", fmt.Sprintf("%s:%d", p.Addr, podPort)
	if strings.Contains(addr, ":") {
		family, to = "ip6", fmt.Sprintf("[%s]:%d", p.Addr6, podPort)
	}
	c.node.Run(t, "nft", "add table inet kube; "+
		"add chain inet kube services { type nat hook prerouting priority dstnat; }; "+
		"add chain inet kube back { type nat hook postrouting priority srcnat; }; "+
		fmt.Sprintf("add rule inet kube services %s daddr %s tcp dport %d dnat %s to %s; ", family, addr, port, family, to)+
		// Answers must come back through here, also to a pod that calls its own service.
		"flush chain inet kube back; add rule inet kube back ct status dnat masquerade")
}

// Get calls a URL as a user in a namespace, on a connection of its own, with headers given as name, value, name, value.
// The status is 0 if there was no answer, and the body says why.
func Get(t testing.TB, from *netns.Space, user int, url string, headers ...string) (status int, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	harness.Must(t, err)
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			req.Host = headers[i+1]
		}
		req.Header.Add(headers[i], headers[i+1])
	}
	client := &http.Client{Timeout: harness.Patience, Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(_ context.Context, _, addr string) (net.Conn, error) {
			return from.Dial(t, user, addr)
		},
	}}
	resp, err := client.Do(req)
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
