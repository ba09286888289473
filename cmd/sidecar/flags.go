package main

import (
	"strings"

	"github.com/spf13/pflag"

	"graylane/pkg/propagate"
)

// flagRow is one setting of `run`.
type flagRow struct{ name, kind, fallback, usage string }

// flagTable is every setting of `run`: as a flag, as GRAYLANE_NAME in the
// environment (in upper case, _ for -), and as a key of the --config file.
func flagTable() []flagRow {
	known := strings.Join(propagate.KnownTraceHeaders(), ",")
	return []flagRow{
		{"policy", "file", "", "policy file, watched for changes (required)"},
		{"inbound", "addresses", ":15006", "where calls from other pods come in"},
		{"outbound", "addresses", "127.0.0.1:15001,[::1]:15001", "where calls of the app beside us come in; loopback only"},
		{"gateway", "addresses", "", "where callers from outside come in, who are sent by the routes of the policy (default none)"},
		{"admin", "addresses", defaultAdmin, "/policy, /endpoints, /metrics, /debug/pprof/, POST /drain; loopback only"},
		{"health", "addresses", ":15021", "/live, /ready and /metrics"},
		{"app", "address", "127.0.0.1:8080", "the app beside us"},
		{"service", "name", "", "service that this pod belongs to, as the policy names it (default none)"},
		{"tag", "tag", "base", "version that this pod belongs to"},
		{"edge", "bool", "false", "believe no tag from inbound callers"},
		{"trace-headers", "names", known, "headers whose ids tie outbound calls to inbound ones, in the order asked"},
		{"trace-make", "names", "auto", "which of them to make where none came; auto: traceparent, X-Request-Id and what the app speaks"},
		{"trace-sampled", "bool", "true", "flag a traceparent that we make as sampled"},
		{"state", "folder", "", "keeps the last good policy over a restart (default none)"},
		{"grace", "duration", "5s", "after SIGTERM: not ready, but accepting still"},
		{"drain", "duration", "10s", "after the grace: how long requests may take to finish"},
		{"zone", "name", "", "zone of this pod (default none)"},
		{"dns", "addresses", "", "name servers to ask for endpoints (default those of /etc/resolv.conf)"},
		{"log-level", "level", "info", "debug, info, warn or error"},
		{"log-format", "format", "text", "text or json"},
		{"access-log", "bool", "false", "log every request"},
		{"log-inputs", "bool", "false", "add to the access log what the rules read of a request, for sidecar diff"},
		{"ledger-ttl", "duration", "5m", "how long the tag of a trace is remembered"},
		{"ledger-size", "number", "100000", "how many traces are remembered"},
		{"max-head", "bytes", "64KiB", "largest head of a request or reply; larger requests are answered 431"},
		{"max-body", "bytes", "0", "largest body of a request, larger ones are answered 413; 0: no limit (default 0)"},
		{"max-connections", "number", "", "connections that each side serves at a time; one more is answered 503 (default 20000, or fewer if the limit of open files is low)"},
		{"opaque-ports", "ports", "21,22,25,110,143,587,3306,4222,6667", "redirected calls and tunnels to these are no HTTP; their servers, which speak first, are not made to wait"},
		{"tcp-idle", "duration", "0s", "redirected connections other than HTTP are reset when idle for so long; 0s: never"},
		{"head-timeout", "duration", "10s", "how long the head of a request may take, once it has begun; then 408, over HTTP/2 the end of its connection"},
		{configFlag, "file", "", "settings file, .yaml, .json or .toml; keys are the names of these flags (default none)"},
	}
}

func flagNames() []string {
	var names []string
	for _, f := range flagTable() {
		names = append(names, f.name)
	}
	return names
}

const (
	configFlag   = "config"
	defaultAdmin = "127.0.0.1:15000" // for `drain` too
)

// addFlags adds every setting of `run` to fs, for loadSettings to read.
func addFlags(fs *pflag.FlagSet) {
	for _, f := range flagTable() {
		fs.Var(&flagText{text: f.fallback, kind: f.kind}, f.name, f.usage)
	}
}

// flagText keeps the value of a flag as it was written: loadSettings parses what
// comes from flags, environment and file in one place, so that it can report all
// faults at once.
type flagText struct{ text, kind string }

func (t *flagText) String() string { return t.text }
func (t *flagText) Type() string   { return t.kind }

func (t *flagText) Set(s string) error {
	t.text = s
	return nil
}

// IsBoolFlag lets pflag take --edge for --edge=true.
func (t *flagText) IsBoolFlag() bool { return t.kind == "bool" }

// boundFlag shows a flag to viper as text, whatever its kind: viper would turn a
// misspelt bool into false without a word.
type boundFlag struct{ *pflag.Flag }

func (f boundFlag) Name() string        { return f.Flag.Name }
func (f boundFlag) HasChanged() bool    { return f.Changed }
func (f boundFlag) ValueString() string { return f.Value.String() }
func (f boundFlag) ValueType() string   { return "string" }
