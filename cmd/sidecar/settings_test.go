package main

import (
	"log/slog"
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
