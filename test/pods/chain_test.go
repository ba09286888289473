package pods

import (
	"fmt"
	"strings"
	"testing"

	"graylane/test/harness"
)

// shop is the chain front -> orders -> users, base and gray, each a pod. Apps call services by the addresses that
// Kubernetes would give them, which lead to the base pods.
type shop struct {
	*Cluster
	front, orders, ordersGray, users, usersGray *Pod
}

const (
	ordersAddr, ordersAddr6 = "10.96.0.2", "fd96::2"
	usersAddr, usersAddr6   = "10.96.0.3", "fd96::3"
)

func newShop(t *testing.T, ordersAt, usersAt string) *shop {
	t.Helper()
	s := &shop{Cluster: NewCluster(t)}
	resolve := "orders=" + ordersAt + ",users=" + usersAt
	start := func(service, tag, next string) *Pod {
		p := s.Start(t, service+"-"+tag, Config{Service: service, Tag: tag})
		startApp(t, p, "-name", p.Name, "-next="+next, "-resolve="+resolve)
		return p
	}
	s.front = start("front", "base", "orders:80")
	s.orders, s.ordersGray = start("orders", "base", "users:80"), start("orders", "gray", "users:80")
	s.users, s.usersGray = start("users", "base", ""), start("users", "gray", "")
	s.Service(t, ordersAddr, 80, s.orders, 8080)
	s.Service(t, ordersAddr6, 80, s.orders, 8080)
	s.Service(t, usersAddr, 80, s.users, 8080)
	s.Service(t, usersAddr6, 80, s.users, 8080)
	return s
}

// policyFor lists the pods by their addresses of one family.
func (s *shop) policyFor(address func(*Pod) string) string {
	return fmt.Sprintf(`apiVersion: graylane.dev/v1
rules:
  - {name: testers, tag: gray, matches: [{headers: [{name: X-User-Id, value: "7"}]}]}
services:
  - {name: front, hosts: [front], versions: [{tag: base, endpoints: [%q]}]}
  - {name: orders, hosts: [orders], versions: [{tag: base, endpoints: [%q]}, {tag: gray, endpoints: [%q]}]}
  - {name: users, hosts: [users, users.shop.svc], versions: [{tag: base, endpoints: [%q]}, {tag: gray, endpoints: [%q]}]}
`, address(s.front), address(s.orders), address(s.ordersGray), address(s.users), address(s.usersGray))
}

func address4(p *Pod) string { return p.Addr + ":8080" }
func address6(p *Pod) string { return "[" + p.Addr6 + "]:8080" }

func TestChainOfAppsThatKnowNoProxy(t *testing.T) {
	for _, family := range []struct {
		name, orders, users string
		address             func(*Pod) string
	}{
		{"IPv4", ordersAddr, usersAddr, address4},
		{"IPv6", ordersAddr6, usersAddr6, address6},
	} {
		t.Run(family.name, func(t *testing.T) {
			s := newShop(t, family.orders, family.users)
			s.Apply(t, s.policyFor(family.address))
			front := "http://" + family.address(s.front)
			for _, c := range []struct {
				name    string
				headers []string
				want    string
			}{
				{"nobody in particular", nil, "front-base -> orders-base -> users-base"},
				{"a request that is gray already", []string{"X-Gray", "gray"}, "front-base -> orders-gray -> users-gray"},
				{"a tester", []string{"X-User-Id", "7"}, "front-base -> orders-gray -> users-gray"},
				{"a base request of a tester", []string{"X-Gray", "base", "X-User-Id", "7"}, "front-base -> orders-base -> users-base"},
			} {
				for range 3 {
					if status, got := Get(t, s.Client, 0, front+"/", c.headers...); status != 200 || got != c.want {
						t.Errorf("%s: got %d %q, want 200 %q", c.name, status, got, c.want)
					}
				}
			}
			for _, p := range s.pods {
				if p.Metric(t, "graylane_requests_total", `direction="inbound"`) == 0 {
					t.Errorf("no request came through the sidecar of %s", p.Name)
				}
				if n := p.Metric(t, "graylane_host_mismatch_total"); n != 0 {
					t.Errorf("%s: %v hosts did not match", p.Name, n)
				}
			}
		})
	}
}

func TestSidecarsHaveNoCapabilities(t *testing.T) {
	c := NewCluster(t)
	p := c.Start(t, "users-base", Config{Service: "users", Tag: "base"})
	status := p.Run(t, "cat", fmt.Sprintf("/proc/%d/status", p.Sidecar.PID()))
	for _, want := range []string{"CapEff:\t0000000000000000", "CapPrm:\t0000000000000000", "Uid:\t1337\t1337\t1337\t1337"} {
		if !strings.Contains(status, want) {
			t.Errorf("got no %q in\n%s", want, status)
		}
	}
	harness.WaitFor(t, "the rules work", func() bool {
		return strings.Contains(p.Run(t, harness.Binary(t), "redirect", "--check"), "a connection arrived")
	})
}
