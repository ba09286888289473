package policy

import (
	"net/netip"
	"testing"
)

func TestLeaks(t *testing.T) {
	p, err := Parse("policy.yaml", []byte(`
apiVersion: graylane.dev/v1
services:
  - name: users
    hosts: [users]
    guard: reject
    guardExcept: {paths: [/metrics, /a/], sourceIPs: [10.9.0.0/16]}
    versions: [{tag: base, endpoints: ["10.0.0.1:8080"]}, {tag: gray, endpoints: ["10.0.0.2:8080"]}]
`))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, pod, tag, path, peer string
		port                       uint16
		want                       bool
	}{
		{"a base request at a gray pod", "gray", "base", "/v1", "10.1.0.1", 8080, true},
		{"another tag at a gray pod", "gray", "blue", "/v1", "10.1.0.1", 8080, true},
		{"a gray request at a gray pod", "gray", "gray", "/v1", "10.1.0.1", 8080, false},
		{"fallback: a gray request at a base pod", "base", "gray", "/v1", "10.1.0.1", 8080, false},
		{"a pod that was not given a tag", "", "gray", "/v1", "10.1.0.1", 8080, false},
		{"a port that is not known", "gray", "base", "/v1", "10.1.0.1", 0, true},
		{"a port of another purpose", "gray", "base", "/v1", "10.1.0.1", 9090, false},
		{"a path for every pod", "gray", "base", "/metrics", "10.1.0.1", 8080, false},
		{"a path below it", "gray", "base", "/metrics/jvm", "10.1.0.1", 8080, false},
		{"a path that begins like it", "gray", "base", "/metricsx", "10.1.0.1", 8080, true},
		{"a path that hides", "gray", "base", "/v1/../%6detrics", "10.1.0.1", 8080, false},
		{"a path that leads out of it", "gray", "base", "/metrics/../v1", "10.1.0.1", 8080, true},
		{"and as some apps read it", "gray", "base", "/metrics/..;/v1", "10.1.0.1", 8080, true},
		{"and as others do", "gray", "base", "/metrics/..%5cv1", "10.1.0.1", 8080, true},
		{"a path written with a slash", "gray", "base", "/a", "10.1.0.1", 8080, false},
		{"a caller who is let pass", "gray", "base", "/v1", "10.9.1.1", 8080, false},
		{"the same as IPv4 in IPv6", "gray", "base", "/v1", "::ffff:10.9.1.1", 8080, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &Request{Path: []byte(c.path), Peer: netip.MustParseAddr(c.peer)}
			if got := p.ServiceNamed("users").Leaks(c.pod, c.tag, r, c.port); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestLeaksWhereSourcesBringThePorts(t *testing.T) {
	for _, versions := range []string{
		`[{tag: base, endpoints: ["10.0.0.1:8080"]}, {tag: gray, file: gray.json}]`,
		`[{tag: base, endpoints: ["10.0.0.1:8080"]}, {tag: gray, dnsSRV: _http._tcp.users-gray.shop}]`,
	} {
		p, err := Parse("policy.yaml", []byte("apiVersion: graylane.dev/v1\nservices: [{name: users, hosts: ['users:80'], versions: "+versions+"}]\n"))
		if err != nil {
			t.Fatal(err)
		}
		if !p.ServiceNamed("users").Leaks("gray", Base, &Request{Path: []byte("/")}, 9090) {
			t.Errorf("%s: a base request at a gray pod's own port is no leak, want one", versions)
		}
	}
}

func TestLeaksDoesNotAllocate(t *testing.T) {
	s := &Service{Guard: Guard{paths: []string{"/metrics", "/health"}, peers: []netip.Prefix{netip.MustParsePrefix("10.9.0.0/16")}}}
	r := &Request{Path: []byte("/v1/users/7"), Peer: netip.MustParseAddr("10.1.0.1")}
	if n := testing.AllocsPerRun(1000, func() { s.Leaks("gray", "base", r, 8080) }); n != 0 {
		t.Errorf("got %v allocations, want 0", n)
	}
}
