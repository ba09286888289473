package redirect

import (
	"errors"
	"net"
	"syscall"
	"testing"
	"time"

	"graylane/test/netns"
)

const (
	app     = 1000 // user of the pod's app
	sidecar = 1337
	refused = "refused"
)

// scene is a pod with an app and what stands for a sidecar, another machine with
// a server, and a guest that reaches that machine through the pod.
type scene struct {
	pod, other, guest *netns.Space
	arrived           chan string
}

func newScene(t *testing.T, rules Rules) *scene {
	t.Helper()
	s := &scene{
		pod: netns.New(t, "pod"), other: netns.New(t, "other"), guest: netns.New(t, "guest"),
		arrived: make(chan string, 10),
	}
	s.pod.Wire(t, "eth0", s.other, "eth0")
	s.pod.Wire(t, "eth1", s.guest, "eth0")
	s.pod.Address(t, "eth0", "10.1.0.2/24", "fd01::2/64")
	s.other.Address(t, "eth0", "10.1.0.1/24", "fd01::1/64", "10.1.0.3/24")
	s.pod.Address(t, "eth1", "10.2.0.1/24")
	s.guest.Address(t, "eth0", "10.2.0.2/24")
	s.guest.Run(t, "ip", "route", "add", "default", "via", "10.2.0.1")
	s.other.Run(t, "ip", "route", "add", "10.2.0.0/24", "via", "10.1.0.2")
	s.pod.Run(t, "sysctl", "-qw", "net.ipv4.ip_forward=1")

	s.serve(t, s.pod, "inbound", ":15006")
	s.serve(t, s.pod, "outbound", "127.0.0.1:15001")
	s.serve(t, s.pod, "outbound", "[::1]:15001")
	s.serve(t, s.pod, "health", ":15021")
	s.serve(t, s.pod, "app", ":8080")
	s.serve(t, s.pod, "private", "127.0.0.1:9090")
	s.serve(t, s.pod, "private", "[::1]:9090")
	for _, addr := range []string{":80", ":443"} {
		s.serve(t, s.other, "server", addr)
	}
	if err := s.pod.Do(rules.Install); err != nil {
		t.Fatal(err)
	}
	return s
}

// serve notes who gets a connection.
func (s *scene) serve(t *testing.T, where *netns.Space, name, addr string) {
	t.Helper()
	l := where.Listen(t, addr)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			conn.Close()
			s.arrived <- name
		}
	}()
}

// call gives who gets a connection from somewhere.
func (s *scene) call(t *testing.T, from *netns.Space, uid int, to string) string {
	t.Helper()
	_, err := from.Dial(t, uid, to)
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return refused
	case err != nil:
		return err.Error()
	}
	select {
	case name := <-s.arrived:
		return name
	case <-time.After(time.Minute):
		return "nobody"
	}
}

func TestWhereConnectionsArrive(t *testing.T) {
	s := newScene(t, plain())
	for _, c := range []struct {
		name string
		from *netns.Space
		uid  int
		to   []string
		want string
	}{
		{"a call to the app", s.other, app, []string{"10.1.0.2:8080", "[fd01::2]:8080"}, "inbound"},
		{"a call to a port where nobody listens", s.other, app, []string{"10.1.0.2:8081", "[fd01::2]:8081"}, refused},
		{"a call to what listens on loopback alone", s.other, app, []string{"10.1.0.2:9090", "[fd01::2]:9090"}, refused},
		{"a call to the outbound port from outside", s.other, app, []string{"10.1.0.2:15001", "[fd01::2]:15001"}, refused},
		{"the kubelet's probe of the sidecar", s.other, 0, []string{"10.1.0.2:15021", "[fd01::2]:15021"}, "health"},
		{"the app's call", s.pod, app, []string{"10.1.0.1:80", "[fd01::1]:443"}, "outbound"},
		{"a call of an app that runs as root", s.pod, 0, []string{"10.1.0.1:80", "[fd01::1]:443"}, "outbound"},
		{"a call to where nobody is", s.pod, app, []string{"10.1.0.1:81", "10.1.0.99:80", "[fd01::99]:80"}, "outbound"},
		{"the sidecar's call", s.pod, sidecar, []string{"10.1.0.1:80", "[fd01::1]:443"}, "server"},
		{"the sidecar's call to the app", s.pod, sidecar, []string{"10.1.0.2:8080", "[fd01::2]:8080", "127.0.0.1:8080"}, "app"},
		{"the app's call to loopback", s.pod, app, []string{"127.0.0.1:9090", "127.9.9.9:8080", "[::1]:9090"}, "private"},
		{"the app's call to its own address", s.pod, app, []string{"10.1.0.2:8080", "[fd01::2]:8080"}, "outbound"},
		{"a call through the pod", s.guest, app, []string{"10.1.0.1:80"}, "server"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, to := range c.to {
				want := c.want
				if to == "127.9.9.9:8080" {
					want = "app" // which listens on every address
				}
				if got := s.call(t, c.from, c.uid, to); got != want {
					t.Errorf("to %s: got %s, want %s", to, got, want)
				}
			}
		})
	}
}

func TestFilters(t *testing.T) {
	for _, c := range []struct {
		name     string
		change   func(*Rules)
		to, want string
	}{
		{"an excluded port out", func(r *Rules) { r.Outbound.Exclude.Ports = []PortRange{{80, 90}} }, "10.1.0.1:80", "server"},
		{"a port not excluded", func(r *Rules) { r.Outbound.Exclude.Ports = []PortRange{{81, 90}} }, "10.1.0.1:80", "outbound"},
		{"an included port out", func(r *Rules) { r.Outbound.Include.Ports = []PortRange{{80, 80}} }, "10.1.0.1:80", "outbound"},
		{"a port not included", func(r *Rules) { r.Outbound.Include.Ports = []PortRange{{80, 80}} }, "10.1.0.1:443", "server"},
		{"an excluded port that is included too", func(r *Rules) {
			r.Outbound.Include.Ports, r.Outbound.Exclude.Ports = []PortRange{{80, 443}}, []PortRange{{443, 443}}
		}, "10.1.0.1:443", "server"},
		{"an excluded peer", func(r *Rules) { r.Outbound.Exclude.Peers = prefixes("10.1.0.1") }, "10.1.0.1:80", "server"},
		{"an excluded peer of IPv6", func(r *Rules) { r.Outbound.Exclude.Peers = prefixes("fd01::/126") }, "[fd01::1]:80", "server"},
		{"a peer not excluded", func(r *Rules) { r.Outbound.Exclude.Peers = prefixes("10.1.0.1") }, "10.1.0.3:80", "outbound"},
		{"an included peer", func(r *Rules) { r.Outbound.Include.Peers = prefixes("10.1.0.0/24") }, "10.1.0.1:80", "outbound"},
		{"a peer not included", func(r *Rules) { r.Outbound.Include.Peers = prefixes("10.1.0.0/31", "fd01::/64") }, "10.1.0.3:80", "server"},
		{"nothing of IPv6 included", func(r *Rules) { r.Outbound.Include.Peers = prefixes("10.1.0.0/24") }, "[fd01::1]:80", "server"},
		{"nothing of IPv4 included", func(r *Rules) { r.Outbound.Include.Peers = prefixes("fd01::/64") }, "10.1.0.1:80", "server"},
		{"all of IPv4 included", func(r *Rules) { r.Outbound.Include.Peers = prefixes("0.0.0.0/0") }, "10.1.0.1:80", "outbound"},
		{"an excluded interface", func(r *Rules) { r.Outbound.Exclude.Interfaces = []string{"eth0"} }, "10.1.0.1:80", "server"},
		{"an included interface", func(r *Rules) { r.Outbound.Include.Interfaces = []string{"eth1", "eth0"} }, "10.1.0.1:80", "outbound"},
		{"an interface not included", func(r *Rules) { r.Outbound.Include.Interfaces = []string{"eth1"} }, "10.1.0.1:80", "server"},

		{"an excluded port in", func(r *Rules) { r.Inbound.Exclude.Ports = []PortRange{{8080, 8080}} }, "10.1.0.2:8080", "app"},
		{"a port in that is not included", func(r *Rules) { r.Inbound.Include.Ports = []PortRange{{80, 80}} }, "10.1.0.2:8080", "app"},
		{"an excluded caller", func(r *Rules) { r.Inbound.Exclude.Peers = prefixes("10.1.0.1") }, "10.1.0.2:8080", "app"},
		{"a caller not included", func(r *Rules) { r.Inbound.Include.Peers = prefixes("10.9.0.0/16") }, "10.1.0.2:8080", "app"},
		{"an included caller", func(r *Rules) { r.Inbound.Include.Peers = prefixes("10.1.0.1") }, "10.1.0.2:8080", "inbound"},
		{"an excluded interface in", func(r *Rules) { r.Inbound.Exclude.Interfaces = []string{"eth0"} }, "10.1.0.2:8080", "app"},
	} {
		t.Run(c.name, func(t *testing.T) {
			rules := plain()
			c.change(&rules)
			s := newScene(t, rules)
			from := s.pod
			if c.to == "10.1.0.2:8080" {
				from = s.other
			}
			if got := s.call(t, from, app, c.to); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestUDPIsLeftAlone(t *testing.T) {
	s := newScene(t, plain())
	var server net.PacketConn
	if err := s.other.Do(func() (err error) {
		server, err = net.ListenPacket("udp", "10.1.0.1:53")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	if err := s.pod.As(app, func() error {
		conn, err := net.Dial("udp", "10.1.0.1:53")
		if err != nil {
			return err
		}
		defer conn.Close()
		_, err = conn.Write([]byte("who is users?"))
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if err := server.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 100)
	n, from, err := server.ReadFrom(got)
	if err != nil || string(got[:n]) != "who is users?" {
		t.Errorf("got %q from %v, %v, want the question", got[:n], from, err)
	}
}

func TestAClosedPortOpensWithItsApp(t *testing.T) {
	s := newScene(t, plain())
	if got := s.call(t, s.other, app, "10.1.0.2:7000"); got != refused {
		t.Fatalf("before: got %s, want %s", got, refused)
	}
	s.serve(t, s.pod, "late", "10.1.0.2:7000")
	if got := s.call(t, s.other, app, "10.1.0.2:7000"); got != "inbound" {
		t.Errorf("after: got %s, want inbound", got)
	}
}
