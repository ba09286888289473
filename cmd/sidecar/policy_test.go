package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	calmPolicy = `apiVersion: graylane.dev/v1
rules: [{name: testers, tag: gray, matches: [{headers: [{name: X-User-Id, values: ["7"]}]}]}]
services: [{name: users, edge: true, versions: [{tag: base, endpoints: ["a:1"]}, {tag: gray, endpoints: ["b:1"]}]}]
`
	oddPolicy    = "apiVersion: graylane.dev/v1\nservices: [{name: users}]\n"
	brokenPolicy = "apiVersion: graylane.dev/v1\nruls: []\n"
)

// command runs one command line and returns what it printed and its exit code.
func command(t *testing.T, in string, args ...string) (out, errOut string, code int) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = execute(context.Background(), args, strings.NewReader(in), &stdout, &stderr)
	return stdout.String(), stderr.String(), code
}

func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestCheckSaysWhatIsWrongAndWhatIsOdd(t *testing.T) {
	calm, odd, broken := file(t, "calm.yaml", calmPolicy), file(t, "odd.yaml", oddPolicy), file(t, "broken.yaml", brokenPolicy)
	for _, tt := range []struct {
		name  string
		files []string
		out   []string
		code  int
	}{
		{"a good file", []string{calm}, []string{calm + ": good\n"}, 0},
		{"an odd file", []string{odd}, []string{odd + ":2:11: warning: services: no service is an edge", odd + ": good\n"}, 0},
		{"a bad file", []string{broken}, []string{broken + `:2:1: ruls: unknown key; did you mean "rules"?` + "\n"}, 1},
		{"a bad file between good ones", []string{calm, broken, odd}, []string{calm + ": good\n", "ruls: unknown key", odd + ": good\n"}, 1},
		{"a file that is not there", []string{"/nowhere/policy.yaml"}, []string{"/nowhere/policy.yaml: no such file or directory\n"}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out, errOut, code := command(t, "", append([]string{"check"}, tt.files...)...)
			if code != tt.code || errOut != "" {
				t.Errorf("exit code %d, standard error %q, want %d and nothing", code, errOut, tt.code)
			}
			for _, part := range tt.out {
				if !strings.Contains(out, part) {
					t.Errorf("printed %q, want %q in it", out, part)
				}
			}
		})
	}
}

func TestCheckInJSON(t *testing.T) {
	odd, broken := file(t, "odd.yaml", oddPolicy), file(t, "broken.yaml", brokenPolicy)
	out, _, code := command(t, "", "check", "--output", "json", odd, broken)
	var reviews []struct {
		File             string
		OK               bool
		Faults, Warnings []struct {
			Line, Column int
			Where, What  string
		}
	}
	if err := json.Unmarshal([]byte(out), &reviews); err != nil || len(reviews) != 2 || code != 1 {
		t.Fatalf("exit code %d, printed %s: %v", code, out, err)
	}
	if r := reviews[0]; !r.OK || len(r.Faults) != 0 || len(r.Warnings) != 1 || r.Warnings[0].Where != "services" {
		t.Errorf("review of %s: %+v", odd, r)
	}
	if r := reviews[1]; r.OK || len(r.Faults) != 1 || r.Faults[0].Line != 2 || r.Faults[0].Where != "ruls" {
		t.Errorf("review of %s: %+v", broken, r)
	}
}

func TestExplainTakesARequestInThreeForms(t *testing.T) {
	policy := file(t, "policy.yaml", calmPolicy)
	const want = "\ntag gray by rule testers, service users, version gray (matched)\n"
	for name, args := range map[string][]string{
		"on one line": {"--request", "GET http://users/v1 X-User-Id: 7"},
		"as curl":     {"--curl", `curl 'http://users/v1' -H 'X-User-Id: 7'`},
		"raw":         nil,
	} {
		t.Run(name, func(t *testing.T) {
			raw := "GET /v1 HTTP/1.1\r\nHost: users\r\nX-User-Id: 7\r\n\r\n"
			out, errOut, code := command(t, raw, append([]string{"explain", "--policy", policy}, args...)...)
			if code != 0 || errOut != "" || !strings.HasSuffix(out, want) {
				t.Errorf("exit code %d, standard error %q, printed:\n%s\nwant %q at the end", code, errOut, out, want)
			}
		})
	}
}

func TestExplainWithoutARequestSaysHowToGiveOne(t *testing.T) {
	_, errOut, code := command(t, "\n", "explain", "--policy", file(t, "policy.yaml", calmPolicy))
	if want := "sidecar: no request, want --request, --curl, or raw HTTP on standard input\n"; code != exitUsage || errOut != want {
		t.Errorf("exit code %d, printed %q, want %d and %q", code, errOut, exitUsage, want)
	}
}

func TestExplainAsksAsTheSideThatItIsTold(t *testing.T) {
	policy := file(t, "policy.yaml", calmPolicy+"routes: [{path: /shop, service: users, stripPrefix: 1}]\n")
	for _, tt := range []struct {
		name, request string
		args          []string
		want          string
	}{
		{"a call of a gray app", "http://users/", []string{"--from-tag=gray"},
			"tag gray: that of the pod, which works for such requests alone, so no rule is asked\n"},
		{"a call of a base app", "http://users/ X-User-Id: 7", []string{"--from-tag=base"},
			"rule testers takes it: tag gray\n"},
		{"an app is believed, whoever it seems to be", "http://users/ X-Gray: base", []string{"--from-tag=gray", "--peer=203.0.113.9"},
			"believed: it comes from the app beside the sidecar\n"},
		{"a call to a stranger", "http://mail/", []string{"--from-tag=gray"},
			"\nno tag (pass_through)\n"},
		{"a stranger gets no trace ids of ours", "http://mail/", []string{"--from-tag=gray"},
			" 1. no service claims host \"mail\": "},
		{"at the gateway", "http://any/shop/v1", []string{"--gateway"},
			"the service gets path \"/v1\" (stripPrefix: 1); the rules see the path as it was sent\n"},
		{"no route of the gateway", "http://users/v1", []string{"--gateway"},
			"404: no route leads to path \"/v1\"\n\nno tag (unavailable)\n"},
		{"a tunnel through the gateway", "CONNECT users:80", []string{"--gateway"},
			"404: no route leads to path \"\"\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out, errOut, code := command(t, "", append([]string{"explain", "--policy", policy, "--request", tt.request}, tt.args...)...)
			if code != 0 || errOut != "" || !strings.Contains(out, tt.want) {
				t.Errorf("exit code %d, standard error %q, printed:\n%s\nwant %q in it", code, errOut, out, tt.want)
			}
		})
	}
}

func TestExplainJudgesTheTagThatCame(t *testing.T) {
	policy := file(t, "policy.yaml", calmPolicy)
	for _, tt := range []struct {
		name string
		args []string
		want string
	}{
		{"a trusted peer", []string{"--peer", "10.0.0.7"}, "\ntag gray, service users, version gray (matched)\n"},
		{"a stranger", []string{"--peer", "203.0.113.9"}, "\ntag base, service users, version base (matched)\n"},
		{"an edge by the policy", []string{"--service", "users"}, "\ntag base, service users, version base (matched)\n"},
		{"an edge by the flag", []string{"--edge"}, "\ntag base, service users, version base (matched)\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, header := range []string{"X-Gray: true", "baggage: a=b,x-gray=gray", "tracestate: graylane=gray"} {
				args := append([]string{"explain", "--policy", policy, "--request", "GET http://users/ " + header}, tt.args...)
				if out, _, code := command(t, "", args...); code != 0 || !strings.HasSuffix(out, tt.want) {
					t.Errorf("%s: exit code %d, printed:\n%s\nwant %q at the end", header, code, out, tt.want)
				}
			}
		})
	}
}

func TestExplainKnowsTheTraceID(t *testing.T) {
	policy := file(t, "policy.yaml", "apiVersion: graylane.dev/v1\nrules: [{name: all, tag: gray, percent: 100, by: {traceID: true}}]")
	out, _, _ := command(t, "", "explain", "--policy", policy, "--request",
		"GET http://users/ traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	if want := `by trace id: "4bf92f3577b34da6a3ce929d0e0e4736" is in bucket`; !strings.Contains(out, want) {
		t.Errorf("printed:\n%s\nwant %q in it", out, want)
	}
}

func TestExplainInJSON(t *testing.T) {
	policy := file(t, "policy.yaml", calmPolicy)
	out, _, _ := command(t, "", "explain", "--policy", policy, "--request", "http://users/", "--output", "json")
	var e struct {
		Tag, Service, Version, Reason string
		Steps                         []struct{ What string }
	}
	if err := json.Unmarshal([]byte(out), &e); err != nil || e.Tag != "base" || e.Version != "base" || len(e.Steps) == 0 {
		t.Errorf("printed %s: %+v, %v", out, e, err)
	}
}

func TestDiffOfMadeUpRequests(t *testing.T) {
	before := file(t, "old.yaml", calmPolicy)
	after := file(t, "new.yaml", strings.Replace(calmPolicy, `["7"]`, `["7", "8"]`, 1))
	out, _, code := command(t, "", "diff", before, after)
	for _, part := range []string{
		"of 10000 requests change\n",
		"from tag base, service users, version base (matched)\n  to   tag gray by rule testers, service users, version gray (matched)\n",
		"X-User-Id: 8",
	} {
		if code != 1 || !strings.Contains(out, part) {
			t.Errorf("exit code %d, printed:\n%s\nwant %q in it", code, out, part)
		}
	}
	if out, _, code := command(t, "", "diff", before, before); code != 0 || out != "0 of 10000 requests change\n" {
		t.Errorf("exit code %d, printed %q for the same policy twice", code, out)
	}
}

func TestDiffOfRecordedRequests(t *testing.T) {
	before := file(t, "old.yaml", calmPolicy)
	after := file(t, "new.yaml", strings.Replace(calmPolicy, `["7"]`, `["8"]`, 1))
	const log = `{"time":"2026-11-30T10:00:00Z","msg":"request","tag":"gray","source":"rule","inputs":{"host":"users","headers":{"X-User-Id":"7"}}}
{"time":"2026-11-30T10:00:00Z","msg":"request","tag":"gray","source":"header","inputs":{"host":"users","headers":{"X-User-Id":"7"}}}
{"time":"2026-11-30T10:00:00Z","msg":"request","tag":"base","source":"base","inputs":{"host":"users","headers":{"X-User-Id":"9"}}}
{"time":"2026-11-30T10:00:00Z","msg":"request","tag":"base","source":"base"}
{"host":"users","headers":{"X-User-Id":"8"}}
`
	for name, in := range map[string]string{"a file": file(t, "access.log", log), "standard input": "-"} {
		t.Run(name, func(t *testing.T) {
			out, errOut, code := command(t, log, "diff", "--requests", in, before, after)
			if code != 1 || !strings.HasPrefix(out, "2 of 4 requests change\n") {
				t.Errorf("exit code %d, printed:\n%s", code, out)
			}
			if want := "1 log lines have no inputs"; !strings.Contains(errOut, want) {
				t.Errorf("standard error %q, want %q in it", errOut, want)
			}
		})
	}
}

func TestDiffThatCannotTellExitsWithTwo(t *testing.T) {
	calm, broken := file(t, "calm.yaml", calmPolicy), file(t, "broken.yaml", brokenPolicy)
	for name, args := range map[string][]string{
		"one file":               {calm},
		"a bad policy":           {calm, broken},
		"a file that is missing": {"/nowhere.yaml", calm},
		"records that are none":  {"--requests", broken, calm, calm},
		"no records":             {"--requests", "-", calm, calm},
		"records that are lost":  {"--requests", "/nowhere.log", calm, calm},
		"an unknown output":      {"--output", "xml", calm, calm},
	} {
		if out, errOut, code := command(t, "", append([]string{"diff"}, args...)...); code != 2 || errOut == "" || out != "" {
			t.Errorf("%s: exit code %d, printed %q, standard error %q, want 2 and why", name, code, out, errOut)
		}
	}
}

func TestPolicyCommandsRefuseNonsense(t *testing.T) {
	policy := file(t, "policy.yaml", calmPolicy)
	for _, args := range [][]string{
		{"check"},
		{"check", "--output", "xml", policy},
		{"explain", "--request", "http://users/"},
		{"explain", "--policy", policy, "--request", "http://users/", "--curl", "curl http://users/"},
		{"explain", "--policy", policy, "--request", ""},
		{"explain", "--policy", policy, "--request", "a b c d"},
		{"explain", "--policy", policy, "--request", "http://users/", "--peer", "me"},
		{"explain", "--policy", policy, "--request", "http://users/", "--at", "noon"},
		{"explain", "--policy", policy, "--curl", "curl 'http://users/"},
		{"explain", "--policy", policy, "--request", "http://users/", "--from-tag", "Gray"},
		{"explain", "--policy", policy, "--request", "http://users/", "--from-tag", "gray", "--gateway"},
		{"explain", "--policy", policy, "--request", "http://users/", "--from-tag", "gray", "--edge"},
		{"explain", "--policy", policy, "--request", "http://users/", "--gateway", "--service", "users"},
	} {
		if _, errOut, code := command(t, "", args...); code != 2 || !strings.HasPrefix(errOut, "sidecar: ") {
			t.Errorf("%q: exit code %d, standard error %q, want 2 and why", args, code, errOut)
		}
	}
}
