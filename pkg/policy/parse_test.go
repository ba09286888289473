package policy

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
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

// A wrong file must take neither the time nor the memory of the app beside us.
func TestLargeFilesAreRefusedWithoutMuchMemory(t *testing.T) {
	const most = 128 << 20 // bytes allocated, half of which is let go on the way
	for name, test := range map[string]struct{ text, want string }{
		"unknown keys":      {numbered("k%d: 1\n", 140_000), "140001 keys, want at most 1000"},
		"more unknown keys": {numbered("k%d: 1\n", 200_000), "values, want at most 300000"},
		"words":             {"headerValues:\n" + numbered(" k%d: v\n", 80_000), "headerValues: 80000 keys, want at most 1000"},
		"nothing":           {"rules: [" + strings.Repeat("~,", 140_000) + "]\n", "140000 items, want at most 50000"},
		"more of nothing":   {"rules: [" + strings.Repeat("~,", 510_000) + "]\n", "values, want at most 300000"},
		"empty mappings":    {"rules: [" + strings.Repeat("{},", 1_300_000) + "]\n", "values, want at most 300000"},
		"keys in sets":      {"rules: [{" + strings.Repeat("a,", 140_000) + "}]\n", "keys, want at most 1000"},
		"faulty rules":      {"rules:\n" + numbered("- {name: r%d, tag: G, percent: 500, matches: [{method: get}]}\n", 9999), "and 901 more"},
		"entries":           {"rules:\n" + strings.Repeat("-\n", 1_900_000), "values, want at most 300000"},
		"aliases":           {"rules:\n- &a {" + numbered("k%d: 1, ", 40_000) + "}\n" + strings.Repeat("- *a\n", 40_000), "keys, want at most 1000"},
	} {
		t.Run(name, func(t *testing.T) {
			text := []byte("apiVersion: graylane.dev/v1\n" + test.text)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := Parse("policy.yaml", text)
			runtime.ReadMemStats(&after)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %.300v, want %q in it", err, test.want)
			}
			if got := after.TotalAlloc - before.TotalAlloc; got > most {
				t.Errorf("%d MiB allocated, want at most %d", got>>20, most>>20)
			}
		})
	}
}

func TestTenThousandRulesAreWithinTheLimits(t *testing.T) {
	for name, rule := range map[string]string{
		"block": "  - name: r%d\n    tag: gray\n    percent: 5\n    by:\n      header: X-User-Id\n    matches:\n      - headers:\n          - name: X-User-Id\n            values:\n              - \"1\"\n              - \"2\"\n",
		"flow":  "  - {name: r%d, tag: gray, percent: 5, matches: [{headers: [{name: X-User-Id, values: [\"1\"]}]}]}\n",
	} {
		text := "apiVersion: graylane.dev/v1\nrules:\n" + numbered(rule, maxRules)
		if _, err := Parse("policy.yaml", []byte(text)); err != nil {
			t.Errorf("%s: %.300v", name, err)
		}
	}
}

func TestUTF16IsCalledByItsName(t *testing.T) {
	const head = "apiVersion"
	little, big := []byte("\xff\xfe"), []byte("\xfe\xff")
	for _, c := range []byte(head) {
		little, big = append(little, c, 0), append(big, 0, c)
	}
	for _, data := range [][]byte{little, little[2:], big, big[2:]} {
		_, err := Parse("policy.yaml", data)
		if want := "policy.yaml: UTF-16 text, want UTF-8"; err == nil || err.Error() != want {
			t.Errorf("%q: error %v, want %q", data, err, want)
		}
	}
}

// numbered repeats a line with the numbers from 0 in it.
func numbered(line string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, line, i)
	}
	return b.String()
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
