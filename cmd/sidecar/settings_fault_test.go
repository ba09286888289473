package main

import (
	"bytes"
	"errors"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEachFaultNamesTheSettingItsOriginAndWhatIsWanted(t *testing.T) {
	tests := []struct{ name, flag, want string }{
		{"no policy", "--policy=", `policy: required, want the path of the policy file`},
		{"a port that is none", "--inbound=:http", `inbound: got ":http" from flag --inbound, want addresses such as :15006 or 10.0.0.1:15006`},
		{"a port without colon", "--inbound=15006", `inbound: got "15006" from flag --inbound, want addresses such as :15006 or 10.0.0.1:15006`},
		{"a name to bind", "--inbound=example.org:15006", `inbound: got "example.org:15006" from flag --inbound, want addresses such as :15006 or 10.0.0.1:15006`},
		{"one of two", "--inbound=:1,x", `inbound: got "x" from flag --inbound, want addresses such as :15006 or 10.0.0.1:15006`},
		{"nothing to bind", "--health=", `health: got "" from flag --health, want addresses such as :15006 or 10.0.0.1:15006`},
		{"an open proxy", "--outbound=:15001", `outbound: got ":15001" from flag --outbound, want loopback addresses such as 127.0.0.1:15001 or [::1]:15001, or it is an open proxy`},
		{"an open proxy beside a closed one", "--outbound=127.0.0.1:15001,10.0.0.1:15001", `outbound: got "10.0.0.1:15001" from flag --outbound, want loopback addresses such as 127.0.0.1:15001 or [::1]:15001, or it is an open proxy`},
		{"an open admin port", "--admin=0.0.0.0:15000", `admin: got "0.0.0.0:15000" from flag --admin, want loopback addresses such as 127.0.0.1:15000, or it is open to everyone`},
		{"an app without host", "--app=:8080", `app: got ":8080" from flag --app, want an address such as 127.0.0.1:8080`},
		{"an app without port", "--app=127.0.0.1", `app: got "127.0.0.1" from flag --app, want an address such as 127.0.0.1:8080`},
		{"an app on port 0", "--app=127.0.0.1:0", `app: got "127.0.0.1:0" from flag --app, want an address such as 127.0.0.1:8080`},
		{"a service with a blank", "--service=my users", `service: got "my users" from flag --service, want at most 253 letters, digits and -_./`},
		{"a tag in upper case", "--tag=Gray", `tag: got "Gray" from flag --tag, want 1 to 63 of a-z, 0-9 and -, neither first nor last a -, and none of true, 1, false, 0`},
		{"a word that means gray", "--tag=true", `tag: got "true" from flag --tag, want 1 to 63 of a-z, 0-9 and -, neither first nor last a -, and none of true, 1, false, 0`},
		{"no tag", "--tag=", `tag: got "" from flag --tag, want 1 to 63 of a-z, 0-9 and -, neither first nor last a -, and none of true, 1, false, 0`},
		{"a switch", "--edge=maybe", `edge: got "maybe" from flag --edge, want true or false`},
		{"a trace header", "--trace-headers=x-nope", `trace-headers: trace header "x-nope": unknown, want one of traceparent, b3, X-B3-TraceId, X-Request-Id, uber-trace-id, sw8, x-datadog-trace-id, X-Amzn-Trace-Id (from flag --trace-headers)`},
		{"a trace header to make", "--trace-make=x-nope", `trace-make: trace header to make "x-nope": unknown, want auto or some of traceparent, b3, X-B3-TraceId, X-Request-Id, uber-trace-id, sw8, x-datadog-trace-id, X-Amzn-Trace-Id (from flag --trace-make)`},
		{"a duration without unit", "--grace=5", `grace: got "5" from flag --grace, want a duration from 0s to 24h0m0s, such as 30s or 5m`},
		{"a negative duration", "--drain=-1s", `drain: got "-1s" from flag --drain, want a duration from 0s to 24h0m0s, such as 30s or 5m`},
		{"no memory at all", "--ledger-ttl=0s", `ledger-ttl: got "0s" from flag --ledger-ttl, want a duration from 1ms to 24h0m0s, such as 30s or 5m`},
		{"a size of 0", "--ledger-size=0", `ledger-size: got "0" from flag --ledger-size, want a number from 1 to 10000000`},
		{"a size beyond", "--ledger-size=99999999999999999999", `ledger-size: got "99999999999999999999" from flag --ledger-size, want a number from 1 to 10000000`},
		{"a head too small to hold one", "--max-head=10", `max-head: got "10" from flag --max-head, want a size from 1024 to 16777216 bytes, such as 65536, 64KiB or 1MiB`},
		{"a size that overflows", "--max-body=9999999999GiB", `max-body: got "9999999999GiB" from flag --max-body, want a size from 0 to 9223372036854775807 bytes, such as 65536, 64KiB or 1MiB`},
		{"a negative size", "--max-body=-1", `max-body: got "-1" from flag --max-body, want a size from 0 to 9223372036854775807 bytes, such as 65536, 64KiB or 1MiB`},
		{"a size in other units", "--max-head=64kb", `max-head: got "64kb" from flag --max-head, want a size from 1024 to 16777216 bytes, such as 65536, 64KiB or 1MiB`},
		{"a level", "--log-level=loud", `log-level: got "loud" from flag --log-level, want debug, info, warn or error`},
		{"a format", "--log-format=xml", `log-format: got "xml" from flag --log-format, want text or json`},
		{"two listeners on one port", "--health=:15006", `health: got ":15006" from flag --health, want another port than inbound has ([::]:15006)`},
		{"every address over one of loopback", "--health=:15001", `health: got ":15001" from flag --health, want another port than outbound has (127.0.0.1:15001)`},
		{"an app that is the sidecar", "--app=127.0.0.1:15006", `app: got "127.0.0.1:15006" from flag --app, want another port than inbound has ([::]:15006)`},
		{"a gateway by name", "--gateway=example.org:80", `gateway: got "example.org:80" from flag --gateway, want addresses such as :15006 or 10.0.0.1:15006`},
		{"a name server by name", "--dns=ns.example.org", `dns: got "ns.example.org" from flag --dns, want IP addresses such as 10.96.0.10 or 127.0.0.1:5353`},
		{"a zone with a blank", "--zone=eu 1", `zone: got "eu 1" from flag --zone, want at most 253 letters, digits and -_./`},
		{"no head at all", "--head-timeout=0s", `head-timeout: got "0s" from flag --head-timeout, want a duration from 1ms to 24h0m0s, such as 30s or 5m`},
		{"no connections", "--max-connections=0", `max-connections: got "0" from flag --max-connections, want a number from 1 to 1000000`},
		{"a port that is none", "--opaque-ports=mysql", `opaque-ports: got "mysql" from flag --opaque-ports, want a port from 1 to 65535`},
		{"a port beyond", "--opaque-ports=3306,65536", `opaque-ports: got "65536" from flag --opaque-ports, want a port from 1 to 65535`},
		{"a raw connection that may not pause", "--tcp-idle=-1s", `tcp-idle: got "-1s" from flag --tcp-idle, want a duration from 0s to 24h0m0s, such as 30s or 5m`},
		{"a flag that is said twice wrongly", "--access-log=1x", `access-log: got "1x" from flag --access-log, want true or false`},
		{"inputs", "--log-inputs=some", `log-inputs: got "some" from flag --log-inputs, want true or false`},
		{"a sampled flag", "--trace-sampled=often", `trace-sampled: got "often" from flag --trace-sampled, want true or false`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := load(t, "--policy=p", test.flag)
			var faults usageError
			if !errors.As(err, &faults) {
				t.Fatalf("got %v, want a usage error", err)
			}
			if diff := cmp.Diff(faults, usageError{test.want}); diff != "" {
				t.Errorf("faults (got -, want +):\n%s", diff)
			}
		})
	}
}

func TestAFaultOfTheTraceHeadersTellsWhereTheyCameFrom(t *testing.T) {
	t.Setenv("GRAYLANE_TRACE_HEADERS", "b3,x-nope,x-none")
	_, err := load(t, "--policy=p")
	var faults usageError
	if !errors.As(err, &faults) {
		t.Fatalf("got %v, want a usage error", err)
	}
	const known = "want one of traceparent, b3, X-B3-TraceId, X-Request-Id, uber-trace-id, sw8, x-datadog-trace-id, X-Amzn-Trace-Id"
	want := usageError{
		`trace-headers: trace header "x-nope": unknown, ` + known + ` (from environment GRAYLANE_TRACE_HEADERS)`,
		`trace-headers: trace header "x-none": unknown, ` + known + ` (from environment GRAYLANE_TRACE_HEADERS)`,
	}
	if diff := cmp.Diff(faults, want); diff != "" {
		t.Errorf("faults (got -, want +):\n%s", diff)
	}
}

func TestAllFaultsAreReportedAtOnce(t *testing.T) {
	t.Setenv("GRAYLANE_GRACE", "soon")
	file := config(t, "s.yaml", "tag: GRAY\ncolour: blue\ntrace:\n  make: b3\nlog_level: debug\nconfig: other.yaml\n")
	name := strings.TrimPrefix(file, "--config=")
	_, err := load(t, file, "--edge=perhaps")
	var faults usageError
	if !errors.As(err, &faults) {
		t.Fatalf("got %v, want a usage error", err)
	}
	want := usageError{
		"colour: unknown key in file " + name + ", want a flag of `sidecar run --help` without its dashes",
		"config: unknown key in file " + name + ", want a flag of `sidecar run --help` without its dashes",
		"log_level: unknown key in file " + name + ", want a flag of `sidecar run --help` without its dashes; did you mean \"log-level\"?",
		"trace.make: unknown key in file " + name + ", want a flag of `sidecar run --help` without its dashes; did you mean \"trace-make\"?",
		`edge: got "perhaps" from flag --edge, want true or false`,
		`grace: got "soon" from environment GRAYLANE_GRACE, want a duration from 0s to 24h0m0s, such as 30s or 5m`,
		"policy: required, want the path of the policy file",
		`tag: got "GRAY" from file ` + name + `, want 1 to 63 of a-z, 0-9 and -, neither first nor last a -, and none of true, 1, false, 0`,
	}
	if diff := cmp.Diff(faults, want); diff != "" {
		t.Errorf("faults (got -, want +):\n%s", diff)
	}
}

func TestAFileThatCannotBeReadIsAFault(t *testing.T) {
	tests := []struct{ name, flag, want string }{
		{"none there", "--config=" + filepath.Join(t.TempDir(), "none.yaml"), "config: open "},
		{"another format", "--config=settings.ini", `config: got "settings.ini" from flag --config, want a file that ends in .yaml`},
		{"broken", config(t, "s.yaml", "policy: [p\n"), "config: "},
		{"a key twice", config(t, "s.yaml", "zone: a\nzone: b\n"), "config: "},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := load(t, "--policy=p", test.flag)
			var faults usageError
			if !errors.As(err, &faults) || !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("got %v, want a usage error that begins with %q", err, test.want)
			}
		})
	}
}

func TestEveryLineOfABindErrorSaysWhoSpeaks(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	addr := taken.Addr().String()
	again := strings.Replace(addr, "127.0.0.1", "127.0.0.2", 1)
	other, err := net.Listen("tcp", again)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	var out bytes.Buffer
	code := execute(t.Context(), []string{"run", "--policy=p", "--inbound=" + addr, "--outbound=" + again + "," + "127.0.0.1:0",
		"--admin=127.0.0.1:0", "--health=127.0.0.1:0"}, nil, &out, &out)
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if code != exitFailed || len(lines) != 2 || !strings.HasPrefix(lines[0], "sidecar: --inbound: ") || !strings.HasPrefix(lines[1], "sidecar: --outbound: ") {
		t.Errorf("exit code %d and %q, want %d and two lines that begin with sidecar: and the flag", code, lines, exitFailed)
	}
}
