package policy

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzParse holds that no file makes the reader or the compiler panic, and that
// what compiles can be asked.
func FuzzParse(f *testing.F) {
	for _, pattern := range []string{"testdata/good/*.yaml", "testdata/bad/*.yaml", "testdata/warn/*.yaml"} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			f.Fatal(err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := Parse("testdata/good/policy.yaml", text)
		if (p == nil) == (err == nil) {
			t.Fatalf("policy %v and error %v", p, err)
		}
		if err != nil {
			for line := range strings.SplitSeq(err.Error(), "\n") {
				if !strings.HasPrefix(line, "testdata/good/policy.yaml:") && !strings.HasPrefix(line, "and ") {
					t.Fatalf("fault does not start with its file: %q", line)
				}
			}
			return
		}
		for s := range Generate(p, p, 50) {
			r := s.Request()
			tag, _ := p.Tag(r)
			if !p.Names(tag) {
				t.Fatalf("tag %q is none of the policy", tag)
			}
			if service := p.ServiceFor(r.Host); service != nil {
				service.Decide(tag)
			}
			p.Explain(r, Incoming{})
			p.Inputs(r)
		}
	})
}

func TestLimits(t *testing.T) {
	for name, text := range map[string]string{
		"10 MB":             "apiVersion: graylane.dev/v1\n#" + strings.Repeat("x", 10<<20),
		"rules":             "apiVersion: graylane.dev/v1\nrules:\n" + strings.Repeat("  - {name: a, tag: gray}\n", maxRules+1),
		"matches":           "apiVersion: graylane.dev/v1\nrules:\n  - name: a\n    tag: gray\n    matches:\n" + strings.Repeat("      - method: GET\n", maxMatches+1),
		"expressions":       "apiVersion: graylane.dev/v1\nrules: [{name: a, tag: gray, matches: [{headers: [{name: A, type: RegularExpression, values: [" + strings.Repeat("a, ", maxPatterns+1) + "]}]}]}]",
		"a long expression": "apiVersion: graylane.dev/v1\nrules: [{name: a, tag: gray, matches: [{headers: [{name: A, type: RegularExpression, value: " + strings.Repeat("a", maxPattern+1) + "}]}]}]",
		"a wide expression": `apiVersion: graylane.dev/v1` + "\n" + `rules: [{name: a, tag: gray, matches: [{headers: [{name: A, type: RegularExpression, value: '(abcdefgh){900}'}]}]}]`,
		"a long value":      "apiVersion: graylane.dev/v1\nrules: [{name: a, tag: gray, matches: [{headers: [{name: A, value: " + strings.Repeat("a", maxValue+1) + "}]}]}]",
		"a long name":       "apiVersion: graylane.dev/v1\nrules: [{name: " + strings.Repeat("a", maxName+1) + ", tag: gray}]",
		"aliases": "apiVersion: graylane.dev/v1\nrules: [{name: a, tag: gray, matches: [{headers: [{name: A, values: &a [" + strings.Repeat("a, ", 1000) +
			"]}]}, " + strings.Repeat("{headers: [{name: A, values: *a}]}, ", 200) + "]}]",
		"brackets": "apiVersion: graylane.dev/v1\nrules: " + strings.Repeat("[", 20_000),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse("policy.yaml", []byte(text))
			if err == nil {
				t.Fatal("it is accepted")
			}
			if len(err.Error()) > 100*300 {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
		})
	}
}

func TestAListThatIsTooLargeIsRefused(t *testing.T) {
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "users.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(maxList + 1); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = Parse(filepath.Join(dir, "policy.yaml"), []byte(
		"apiVersion: graylane.dev/v1\nrules: [{name: a, tag: gray, matches: [{headers: [{name: A, valuesFrom: {files: [users.txt]}}]}]}]"))
	if want := "larger than 64 MiB"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q in it", err, want)
	}
}

func TestManyFaultsAreCutShortInALogLine(t *testing.T) {
	var faults Faults
	for range 150 {
		faults = append(faults, Fault{File: "policy.yaml", Line: 1, Column: 1, What: "bad"})
	}
	lines := strings.Split(faults.Error(), "\n")
	if got, want := lines[len(lines)-1], "and 50 more"; len(lines) != 101 || got != want {
		t.Errorf("%d lines, the last is %q, want 101 and %q", len(lines), got, want)
	}
}
