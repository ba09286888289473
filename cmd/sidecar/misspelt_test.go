package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAVariableThatIsNoSettingIsAWarning(t *testing.T) {
	t.Setenv("GRAYLANE_LEGER_TTL", "5m")
	// What Kubernetes makes for a Service named graylane, and for graylane-admin.
	t.Setenv("GRAYLANE_SERVICE_HOST", "10.0.0.1")
	t.Setenv("GRAYLANE_SERVICE_PORT", "80")
	t.Setenv("GRAYLANE_SERVICE_PORT_HTTP", "80")
	t.Setenv("GRAYLANE_PORT", "tcp://10.0.0.1:80")
	t.Setenv("GRAYLANE_PORT_80_TCP_ADDR", "10.0.0.1")
	t.Setenv("GRAYLANE_ADMIN_SERVICE_HOST", "10.0.0.2")
	t.Setenv("GRAYLANE_ADMIN_PORT_443_TCP", "tcp://10.0.0.2:443")
	s := mustLoad(t, "--policy=p")
	if diff := cmp.Diff(s.Warnings, []string{`environment variable GRAYLANE_LEGER_TTL is no setting; did you mean "GRAYLANE_LEDGER_TTL"?`}); diff != "" {
		t.Errorf("warnings (got -, want +):\n%s", diff)
	}
	if s.Service != "" {
		t.Errorf("got service %q, want none", s.Service)
	}
}

func TestAMisspeltVariableIsToldBesideWhatIsMissingForIt(t *testing.T) {
	t.Setenv("GRAYLANE_POLCY", "p.yaml")
	_, err := load(t)
	want := usageError{
		"policy: required, want the path of the policy file",
		`environment variable GRAYLANE_POLCY is no setting; did you mean "GRAYLANE_POLICY"?`,
	}
	if diff := cmp.Diff(err, error(want)); diff != "" {
		t.Errorf("faults (got -, want +):\n%s", diff)
	}
}

func TestAMisspeltFlagOrCommandIsToldWithTheNearest(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"run", "--legder-ttl=5m"}, "sidecar: unknown flag: --legder-ttl: see sidecar run --help; did you mean \"ledger-ttl\"?\n"},
		{[]string{"explain", "--gatway"}, "sidecar: unknown flag: --gatway: see sidecar explain --help; did you mean \"gateway\"?\n"},
		{[]string{"run", "--colour"}, "sidecar: unknown flag: --colour: see sidecar run --help\n"},
		{[]string{"explain", "--xx"}, "sidecar: unknown flag: --xx: see sidecar explain --help\n"},
		{[]string{"explain", "-p"}, "sidecar: unknown shorthand flag: 'p' in -p: see sidecar explain --help\n"},
		{[]string{"explan"}, "sidecar: no command \"explan\": see sidecar --help; did you mean \"explain\"?\n"},
		{[]string{"start"}, "sidecar: no command \"start\": see sidecar --help\n"},
	} {
		out, errOut, code := command(t, "", c.args...)
		if code != exitUsage || out != "" || errOut != c.want {
			t.Errorf("sidecar %v: exit code %d, printed %q and %q, want %d, nothing and %q", c.args, code, out, errOut, exitUsage, c.want)
		}
	}
}
