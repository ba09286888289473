package main

import (
	"bytes"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"graylane/pkg/propagate"
)

func TestDefaultsAreThoseOfTheHelp(t *testing.T) {
	got := mustLoad(t, "--policy=p.yaml")
	want := &settings{
		Policy:       "p.yaml",
		Inbound:      []string{":15006"},
		Outbound:     []string{"127.0.0.1:15001", "[::1]:15001"},
		Admin:        []string{"127.0.0.1:15000"},
		Health:       []string{":15021"},
		App:          "127.0.0.1:8080",
		Tag:          "base",
		TraceHeaders: propagate.KnownTraceHeaders(),
		TraceMake:    []string{"auto"},
		TraceSampled: true,
		LedgerTTL:    5 * time.Minute,
		LedgerSize:   100_000,
		Grace:        5 * time.Second,
		Drain:        10 * time.Second,
		MaxHead:      64 << 10, HeadTimeout: 10 * time.Second,
		OpaquePorts: []uint16{21, 22, 25, 110, 143, 587, 3306, 4222, 6667},
		LogLevel:    slog.LevelInfo,
		LogFormat:   "text",
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("settings (got -, want +):\n%s", diff)
	}
}

func TestEverySettingCanBeAFlagAVariableOrAKeyOfTheFile(t *testing.T) {
	values := map[string]string{
		"policy": "p.yaml", "inbound": ":1", "outbound": "127.0.0.1:2,[::1]:2", "gateway": ":6", "dns": "10.96.0.10, [::1]:5353", "admin": "127.0.0.2:3", "health": ":4",
		"app": "localhost:5", "service": "users", "tag": "pr-142", "edge": "true",
		"trace-headers": "b3, X-Request-Id", "trace-make": "b3", "trace-sampled": "false",
		"state": "/var/lib/graylane", "grace": "0s", "drain": "1m30s", "zone": "eu-1/a",
		"log-level": "debug", "log-format": "json", "access-log": "true", "log-inputs": "true", "ledger-ttl": "1h", "ledger-size": "7",
		"max-head": "8KiB", "max-body": "1 GiB", "max-connections": "9", "head-timeout": "3s",
		"opaque-ports": "25, 1234", "tcp-idle": "1h",
	}
	want := &settings{
		Policy: "p.yaml", State: "/var/lib/graylane",
		Inbound: []string{":1"}, Outbound: []string{"127.0.0.1:2", "[::1]:2"}, Admin: []string{"127.0.0.2:3"}, Health: []string{":4"},
		Gateway: []string{":6"}, DNS: []string{"10.96.0.10:53", "[::1]:5353"},
		App: "localhost:5", Service: "users", Tag: "pr-142", Zone: "eu-1/a", Edge: true,
		TraceHeaders: []string{"b3", "X-Request-Id"}, TraceMake: []string{"b3"}, TraceSampled: false,
		LedgerTTL: time.Hour, LedgerSize: 7, Grace: 0, Drain: 90 * time.Second,
		MaxHead: 8 << 10, MaxBody: 1 << 30, MaxConnections: 9, HeadTimeout: 3 * time.Second,
		OpaquePorts: []uint16{25, 1234}, TCPIdle: time.Hour,
		LogLevel: slog.LevelDebug, LogFormat: "json", AccessLog: true, LogInputs: true,
	}
	for _, f := range flagTable() {
		if _, ok := values[f.name]; !ok && f.name != configFlag {
			t.Errorf("this test forgets %s", f.name)
		}
	}

	var flags, yaml, toml []string
	for name, value := range values {
		flags = append(flags, "--"+name+"="+value)
		yaml = append(yaml, name+": '"+value+"'")
		toml = append(toml, name+" = '"+value+"'")
	}
	json := `{"` + strings.ReplaceAll(strings.Join(yaml, `, "`), ": '", `": '`) + `}`
	json = strings.ReplaceAll(json, "'", `"`)

	sources := map[string]func(t *testing.T) *settings{
		"flags": func(t *testing.T) *settings { return mustLoad(t, flags...) },
		"environment": func(t *testing.T) *settings {
			for name, value := range values {
				t.Setenv(envName(name), value)
			}
			return mustLoad(t)
		},
		"yaml": func(t *testing.T) *settings { return mustLoad(t, config(t, "s.yaml", strings.Join(yaml, "\n"))) },
		"toml": func(t *testing.T) *settings { return mustLoad(t, config(t, "s.toml", strings.Join(toml, "\n"))) },
		"json": func(t *testing.T) *settings { return mustLoad(t, config(t, "s.json", json)) },
	}
	for name, load := range sources {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(load(t), want); diff != "" {
				t.Errorf("settings (got -, want +):\n%s", diff)
			}
		})
	}
}

func TestTheFileMayHoldValuesOfTheirOwnType(t *testing.T) {
	files := map[string]string{
		"s.yaml": "policy: p\nedge: true\nledger-size: 1000000\noutbound: [127.0.0.1:2, '[::1]:2']\nzone:\n",
		"s.json": `{"policy": "p", "edge": true, "ledger-size": 1000000, "outbound": ["127.0.0.1:2", "[::1]:2"]}`,
		"s.toml": "policy = 'p'\nedge = true\nledger-size = 1_000_000\noutbound = ['127.0.0.1:2', '[::1]:2']\n",
	}
	for name, text := range files {
		t.Run(name, func(t *testing.T) {
			s := mustLoad(t, config(t, name, text))
			if !s.Edge || s.LedgerSize != 1_000_000 {
				t.Errorf("got edge %v, ledger size %d, want true, 1000000", s.Edge, s.LedgerSize)
			}
			if diff := cmp.Diff(s.Outbound, []string{"127.0.0.1:2", "[::1]:2"}); diff != "" {
				t.Errorf("outbound (got -, want +):\n%s", diff)
			}
		})
	}
}

func TestAFlagWinsOverTheEnvironmentAndThatOverTheFile(t *testing.T) {
	file := config(t, "s.yaml", "policy: p\nzone: file\nservice: file\ntag: file\n")
	t.Setenv("GRAYLANE_ZONE", "environment")
	t.Setenv("GRAYLANE_SERVICE", "environment")
	s := mustLoad(t, file, "--zone=flag")
	if s.Zone != "flag" || s.Service != "environment" || s.Tag != "file" {
		t.Errorf("got %s, %s, %s, want flag, environment, file", s.Zone, s.Service, s.Tag)
	}
}

func TestAnEmptyVariableIsNone(t *testing.T) {
	t.Setenv("GRAYLANE_TAG", "")
	if s := mustLoad(t, "--policy=p"); s.Tag != "base" {
		t.Errorf("got tag %q, want base", s.Tag)
	}
}

func TestTheFileCanBeNamedByTheEnvironment(t *testing.T) {
	t.Setenv("GRAYLANE_CONFIG", strings.TrimPrefix(config(t, "s.yaml", "policy: p\nzone: a\n"), "--config="))
	if s := mustLoad(t); s.Zone != "a" {
		t.Errorf("got zone %q, want a", s.Zone)
	}
}

func TestSwitchesNeedNoValue(t *testing.T) {
	if s := mustLoad(t, "--edge", "--access-log", "--policy", "p"); !s.Edge || !s.AccessLog || s.Policy != "p" {
		t.Errorf("got %+v, want edge, access log and policy p", s)
	}
}

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

func TestLocalhostIsTheLoopbackAddress(t *testing.T) {
	s := mustLoad(t, "--policy=p", "--admin=localhost:9000", "--outbound=localhost:9001,[::1]:9001")
	if diff := cmp.Diff([][]string{s.Admin, s.Outbound}, [][]string{{"127.0.0.1:9000"}, {"127.0.0.1:9001", "[::1]:9001"}}); diff != "" {
		t.Errorf("addresses (got -, want +):\n%s", diff)
	}
	_, err := load(t, "--policy=p", "--admin=localhost:http")
	if err == nil || !strings.HasPrefix(err.Error(), `admin: got "localhost:http" from flag --admin, want `) {
		t.Errorf("got %v, want a fault that names localhost:http", err)
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

func TestTheHelpShowsEveryFlagWithItsDefault(t *testing.T) {
	fs := pflag.NewFlagSet("run", pflag.ContinueOnError)
	addFlags(fs)
	help := fs.FlagUsages()
	for _, want := range []string{
		"--policy file ", "--outbound addresses ", "(default 127.0.0.1:15001,[::1]:15001)", "--grace duration ", "(default 5s)",
		"--trace-sampled[=true|false] ", "(default true)", "--ledger-size number ", "(default 100000)",
	} {
		if !strings.Contains(help, want) {
			t.Errorf("the help lacks %q:\n%s", want, help)
		}
	}
}

func mustLoad(t *testing.T, args ...string) *settings {
	t.Helper()
	s, err := load(t, args...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// load reads the settings as `sidecar run` with these arguments does.
func load(t *testing.T, args ...string) (*settings, error) {
	t.Helper()
	fs := pflag.NewFlagSet("run", pflag.ContinueOnError)
	addFlags(fs)
	if err := fs.Parse(args); err != nil {
		t.Fatal(err)
	}
	return loadSettings(fs)
}

// config writes a settings file and gives the flag that names it.
func config(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return "--config=" + path
}
