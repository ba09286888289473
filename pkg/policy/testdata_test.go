package policy

import (
	"bufio"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Each file in testdata/bad says what is wrong with it, as comments that start
// with "# want: ": every fault, in order, without the name of the file.
func TestBadPoliciesAreRefusedWithEveryFault(t *testing.T) {
	for _, path := range glob(t, "testdata/bad/*.yaml") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			var want []string
			for line := range strings.Lines(read(t, path)) {
				if message, ok := strings.CutPrefix(strings.TrimSpace(line), "# want: "); ok {
					want = append(want, message)
				}
			}
			if len(want) == 0 {
				t.Fatal("the file does not say what is wrong with it")
			}
			p, err := Load(path)
			if err == nil {
				t.Fatalf("no fault, policy %v", p)
			}
			got := strings.Split(strings.ReplaceAll(err.Error(), path+":", ""), "\n")
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
		})
	}
}

func TestGoodPoliciesCompile(t *testing.T) {
	for _, path := range glob(t, "testdata/good/*.yaml") {
		if _, err := Load(path); err != nil {
			t.Errorf("%s:\n%v", path, err)
		}
	}
}

// Each file in testdata/decide is a policy and, below it, requests with the
// tag that they get and the rule that gives it. Lines that start with `at`,
// `from`, `trace` and `roll` set the time, the peer, the trace id and the
// random share of the requests below them.
func TestDecideAsWritten(t *testing.T) {
	for _, path := range glob(t, "testdata/decide/*.txt") {
		t.Run(filepath.Base(path), func(t *testing.T) { decideAsWritten(t, path) })
	}
}

func decideAsWritten(t *testing.T, path string) {
	text, requests, ok := strings.Cut(read(t, path), "\n--- requests\n")
	if !ok {
		t.Fatal("no line `--- requests`")
	}
	p, err := Parse(path, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	s := script{t: t, policy: p, peer: netip.MustParseAddr("10.0.0.1")}
	scanner := bufio.NewScanner(strings.NewReader(requests))
	for scanner.Scan() {
		s.line(strings.TrimSpace(scanner.Text()))
	}
	if s.asked == 0 {
		t.Error("no requests")
	}
}

// script asks a policy what a decide file says.
type script struct {
	t      *testing.T
	policy *Policy
	now    time.Time
	peer   netip.Addr
	trace  string
	roll   float64
	asked  int
}

func (s *script) line(line string) {
	s.t.Helper()
	word, rest, _ := strings.Cut(line, " ")
	var err error
	switch word {
	case "", "#":
	case "at":
		s.now, err = time.Parse(time.RFC3339, rest)
	case "from":
		s.peer, err = netip.ParseAddr(rest)
	case "trace":
		s.trace = rest
	case "roll":
		s.roll, err = strconv.ParseFloat(rest, 64)
	default:
		s.ask(line)
	}
	if err != nil {
		s.t.Fatalf("%s: %v", line, err)
	}
}

func (s *script) ask(line string) {
	s.t.Helper()
	text, want, ok := strings.Cut(line, " => ")
	if !ok {
		s.t.Fatalf("%s: no ` => `", line)
	}
	sample, err := ParseSample(text)
	if err != nil {
		s.t.Fatal(err)
	}
	sample.Time, sample.Peer, sample.TraceID = s.now, s.peer, s.trace
	r := sample.Request()
	r.Rand = func() uint64 { return uint64((s.roll + 0.001) / 100 * (1 << 64)) }
	got, rule := s.policy.Tag(r)
	if rule != nil {
		got += " by " + rule.Name
	}
	if got != strings.TrimSpace(want) {
		s.t.Errorf("%s: %s", line, got)
	}
	s.asked++
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("no files %s: %v", pattern, err)
	}
	return paths
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
