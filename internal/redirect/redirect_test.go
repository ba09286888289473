package redirect

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"graylane/test/netns"
)

// plain is the rules that `sidecar redirect` makes without flags.
func plain() Rules {
	return Rules{
		UID:      1337,
		Inbound:  Side{Port: 15006, Exclude: Filter{Ports: []PortRange{{15021, 15021}}}},
		Outbound: Side{Port: 15001},
	}
}

// narrow uses every kind of filter, with ports and peers that overlap.
func narrow() Rules {
	r := plain()
	r.Inbound.Include = Filter{
		Ports:      []PortRange{{8080, 8090}, {80, 80}, {8085, 9000}, {9001, 9001}, {60000, 65535}},
		Peers:      prefixes("10.0.0.0/8", "10.1.0.0/16", "192.168.1.1", "fd00::/8", "::/128"),
		Interfaces: []string{"eth0", "wlan10", "a1"},
	}
	r.Outbound.Exclude = Filter{
		Ports:      []PortRange{{3306, 3306}, {6379, 6379}},
		Peers:      prefixes("169.254.169.254", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4", "fe80::/10", "ff00::/8"),
		Interfaces: []string{"tun0", "docker0"},
	}
	r.Outbound.Include.Peers = prefixes("0.0.0.0/0")
	return r
}

func prefixes(texts ...string) []netip.Prefix {
	var all []netip.Prefix
	for _, text := range texts {
		p, err := ParsePeer(text)
		if err != nil {
			panic(err)
		}
		all = append(all, p)
	}
	return all
}

func TestInstalledRulesAreListedAsTheyArePrinted(t *testing.T) {
	for name, rules := range map[string]Rules{"plain": plain(), "narrow": narrow()} {
		t.Run(name, func(t *testing.T) {
			pod := netns.New(t, "pod")
			for range 2 { // the second time they replace themselves
				if err := pod.Do(rules.Install); err != nil {
					t.Fatal(err)
				}
			}
			got := pod.Run(t, "nft", "list", "table", "inet", Table)
			if diff := cmp.Diff(got, rules.String()); diff != "" {
				t.Errorf("nft lists (-) what String does not print (+):\n%s", diff)
			}
			if got := pod.Run(t, "nft", "list", "tables"); got != "table inet graylane\n" {
				t.Errorf("got tables %q, want ours alone", got)
			}
		})
	}
}

func TestOnlyOurTableIsRemoved(t *testing.T) {
	pod := netns.New(t, "pod")
	pod.Run(t, "nft", "add", "table", "inet", "other")
	if err := pod.Do(plain().Install); err != nil {
		t.Fatal(err)
	}
	for range 2 { // there are none the second time
		if err := pod.Do(Remove); err != nil {
			t.Fatal(err)
		}
		if got, want := pod.Run(t, "nft", "list", "tables"), "table inet other\n"; got != want {
			t.Errorf("got tables %q, want %q", got, want)
		}
	}
}

func TestCheckFindsOutWhatIsInForce(t *testing.T) {
	pod := netns.New(t, "pod")
	pod.Run(t, "ip", "link", "add", "eth0", "type", "veth", "peer", "name", "eth1")
	pod.Run(t, "ip", "link", "set", "eth0", "up")
	pod.Address(t, "eth0", "10.1.0.2/24", "fd01::2/64")
	var vacant []netip.AddrPort
	check := func(r Rules) error {
		return pod.Do(func() (err error) {
			vacant, err = r.Check(context.Background())
			return err
		})
	}
	wantVacant := func(when string, addresses ...string) {
		t.Helper()
		if err := check(plain()); err != nil {
			t.Errorf("%s: %v", when, err)
		}
		var got []string
		for _, addr := range vacant {
			got = append(got, addr.String())
		}
		if diff := cmp.Diff(got, addresses); diff != "" {
			t.Errorf("%s, addresses where no sidecar listens (got -, want +):\n%s", when, diff)
		}
	}
	wantFault := func(err error, fault string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), fault) {
			t.Errorf("got %v, want a fault that says %q", err, fault)
		}
	}

	wantFault(check(plain()), "run `sidecar redirect` first")
	if err := pod.Do(plain().Install); err != nil {
		t.Fatal(err)
	}
	wantVacant("before a sidecar runs", "127.0.0.1:15001", "[::1]:15001")
	pod.Listen(t, "127.0.0.1:15001") // as a sidecar does
	wantVacant("with a sidecar for IPv4 alone", "[::1]:15001")
	pod.Listen(t, "[::1]:15001")
	wantVacant("with a sidecar")
	wantFault(check(narrow()), "not what these flags make")
	asSidecar := func() error {
		_, err := plain().Check(context.Background())
		return err
	}
	wantFault(pod.As(1337, asSidecar), "was not brought to port 15001")

	pod.Run(t, "nft", "flush", "chain", "inet", Table, "outbound")
	wantFault(check(plain()), "not what these flags make")
	if err := pod.Do(plain().Install); err != nil {
		t.Fatal(err)
	}
	wantVacant("after a repair")

	// Somebody else's table takes the connections before ours.
	pod.Run(t, "nft", "add table inet other; add chain inet other out { type nat hook output priority -150 ; }; add rule inet other out meta l4proto tcp dnat ip to 10.1.0.2:9")
	wantFault(check(plain()), "`nft list ruleset`")
}

func TestCheckConnectsToWhatTheRulesInclude(t *testing.T) {
	r := plain()
	r.Outbound.Include = Filter{Ports: []PortRange{{8080, 8080}}, Peers: prefixes("10.9.0.0/16")}
	r.Outbound.Exclude = Filter{Ports: []PortRange{{8079, 8081}}}
	wide := plain()
	wide.Outbound.Include.Interfaces = []string{"eth0"}
	for _, c := range []struct {
		rules Rules
		own   string
		want  string
	}{
		{plain(), "10.1.0.2", "10.1.0.2:1"},
		{plain(), "fd01::2", "[fd01::2]:1"},
		{r, "10.1.0.2", "10.9.0.0:8082"},
		{wide, "10.1.0.2", "192.0.2.1:1"},
		{wide, "fd01::2", "[2001:db8::1]:1"},
	} {
		if got := c.rules.target(netip.MustParseAddr(c.own)).String(); got != c.want {
			t.Errorf("%s: got %s, want %s", c.own, got, c.want)
		}
	}
}

func TestWithoutTheCapabilityItIsNamed(t *testing.T) {
	pod := netns.New(t, "pod")
	err := pod.Do(func() error {
		// Of this thread alone, which ends with the namespace.
		if _, _, errno := unix.Syscall(unix.SYS_SETRESUID, 1000, 1000, 1000); errno != 0 {
			return errno
		}
		return plain().Install()
	})
	if !errors.Is(err, syscall.EPERM) || !strings.Contains(err.Error(), "CAP_NET_ADMIN") {
		t.Errorf("got %v, want EPERM and what is missing", err)
	}
}
