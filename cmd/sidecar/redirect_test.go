package main

import (
	"bytes"
	"net/netip"
	"strings"
	"testing"
)

func TestRedirectPrintsItsRules(t *testing.T) {
	var out, errOut bytes.Buffer
	args := []string{"redirect", "--dry-run", "--uid", "1400", "--inbound-exclude-ports", "9090, 9000-9001", "--outbound-include-peers", "10.0.0.0/8"}
	if code := execute(t.Context(), args, nil, &out, &errOut); code != 0 {
		t.Fatalf("got exit code %d: %s", code, errOut.String())
	}
	for _, want := range []string{
		"meta skuid 1400 accept",
		"tcp dport { 9000-9001, 9090, 15021 } accept", // the health port is left alone too
		"ip daddr != { 10.0.0.0/8 } accept",
		"redirect to :15006", "redirect to :15001",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("got no %q in\n%s", want, out.String())
		}
	}
}

func TestRedirectReportsEveryFault(t *testing.T) {
	var out, errOut bytes.Buffer
	args := []string{"redirect", "--check", "--remove", "--uid", "0", "--inbound-port", "15001", "--health-port", "15001",
		"--inbound-include-ports", "80,http", "--outbound-exclude-peers", "10.0.0.1/8", "--outbound-exclude-interfaces", "eth*"}
	if code := execute(t.Context(), args, nil, &out, &errOut); code != exitUsage {
		t.Errorf("got exit code %d, want %d", code, exitUsage)
	}
	for _, want := range []string{
		"--remove and --check", "uid: got 0", "another port than inbound-port has", "health-port: got 15001, want another port", `inbound-include-ports: got "http"`,
		"want 10.0.0.0/8", `outbound-exclude-interfaces: got "eth*"`,
	} {
		if !strings.Contains(errOut.String(), want) {
			t.Errorf("got no %q in\n%s", want, errOut.String())
		}
	}
}

func TestAPortOutOfRangeIsToldWhatIsWanted(t *testing.T) {
	_, errOut, code := command(t, "", "redirect", "--inbound-port", "99999")
	const want = "sidecar: invalid argument \"99999\" for \"--inbound-port\" flag: want a port from 1 to 65535: see sidecar redirect --help\n"
	if code != exitUsage || errOut != want {
		t.Errorf("exit code %d, printed %q, want %d and %q", code, errOut, exitUsage, want)
	}
}

func TestACheckSaysWhereNoSidecarListens(t *testing.T) {
	for _, c := range []struct {
		name   string
		vacant []netip.AddrPort
		want   string
	}{
		{"a sidecar runs", nil, "redirect rules are in force, and a connection arrived"},
		{"none does", []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:15001"), netip.MustParseAddrPort("[::1]:15001")},
			"redirect rules are in force, and a connection arrived; but no sidecar listens there yet: 127.0.0.1:15001 [::1]:15001"},
	} {
		if got := checked(c.vacant); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}
