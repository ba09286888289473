// Package graylane_test puts the shape of the code under test: run it with -count=1, its result depends on files that
// the test cache does not know.
package graylane_test

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// listed is what `go list -json` tells of a package.
type listed struct {
	ImportPath, Dir, Doc string
	GoFiles, Imports     []string
	Deps                 []string
}

const module = "graylane/"

// ours drops the module's name, and everything that is not of the module.
func ours(paths []string) []string {
	var short []string
	for _, path := range paths {
		if name, ok := strings.CutPrefix(path, module); ok {
			short = append(short, name)
		}
	}
	return short
}

func (p listed) name() string { return strings.TrimPrefix(p.ImportPath, module) }

// list gives the packages of the product: all but those under test/ and this one.
func list(t *testing.T) []listed {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Dir,Doc,GoFiles,Imports,Deps", "./...")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var packages []listed
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatalf("go list: %v", err)
		}
		if strings.HasPrefix(p.ImportPath, module) && !strings.HasPrefix(p.name(), "test/") {
			packages = append(packages, p)
		}
	}
}

// row is a line of the table in ARCHITECTURE.md.
type row struct {
	name, job  string
	mayImports []string
}

func table(t *testing.T) []row {
	t.Helper()
	text, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	var rows []row
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) != 5 || !strings.HasPrefix(cells[1], " `") {
			continue
		}
		rows = append(rows, row{quoted(cells[1])[0], strings.TrimSpace(cells[2]), quoted(cells[3])})
	}
	if len(rows) == 0 {
		t.Fatal("ARCHITECTURE.md has no table of packages")
	}
	return rows
}

// quoted gives what stands in backquotes.
func quoted(cell string) []string {
	var names []string
	for i, part := range strings.Split(cell, "`") {
		if i%2 == 1 {
			names = append(names, part)
		}
	}
	return names
}

func TestTableListsEveryPackageOnce(t *testing.T) {
	var got, want []string
	for _, r := range table(t) {
		got = append(got, r.name)
	}
	for _, p := range list(t) {
		want = append(want, p.name())
	}
	for _, name := range want {
		if n := count(got, name); n != 1 {
			t.Errorf("%s stands %d times in the table of ARCHITECTURE.md, want once: say there what it is for and what it may import, or put the code into a package that is there", name, n)
		}
	}
	for _, name := range got {
		if !slices.Contains(want, name) {
			t.Errorf("%s is in the table of ARCHITECTURE.md and not in the code: take the line out", name)
		}
	}
}

func count(names []string, name string) int {
	n := 0
	for _, other := range names {
		if other == name {
			n++
		}
	}
	return n
}

func TestPackagesImportOnlyWhatTheTableAllows(t *testing.T) {
	rows := map[string]row{}
	for _, r := range table(t) {
		rows[r.name] = r
	}
	for _, p := range list(t) {
		for _, imported := range ours(p.Imports) {
			if !slices.Contains(rows[p.name()].mayImports, imported) {
				t.Errorf("%s imports %s, which its line in ARCHITECTURE.md does not allow: let the caller pass in what is needed, as a value or a small interface of %s; if the design has changed, change the table and say why in docs/adr/", p.name(), imported, p.name())
			}
		}
	}
}

func TestPackageCommentsSayTheJobOfTheTable(t *testing.T) {
	rows := map[string]row{}
	for _, r := range table(t) {
		rows[r.name] = r
	}
	for _, p := range list(t) {
		job := strings.TrimSuffix(rows[p.name()].job, ".")
		if job == "" {
			continue // TestTableListsEveryPackageOnce tells
		}
		job = strings.ToLower(job[:1]) + job[1:]
		if !strings.Contains(p.Doc, job) {
			t.Errorf("the comment of %s starts %q, want the job that ARCHITECTURE.md gives it: %q; make them say the same", p.name(), p.Doc, job)
		}
	}
}

func TestPolicyUsesNoHTTPLibrary(t *testing.T) {
	for _, p := range list(t) {
		if p.name() != "pkg/policy" {
			continue
		}
		for _, dep := range p.Deps {
			if dep == "net/http" || strings.Contains(dep, "fasthttp") || dep == module+"internal/http1" {
				t.Errorf("pkg/policy depends on %s: read what is needed through policy.Request and policy.Headers, so that deciding stays pure and `explain` needs no proxy", dep)
			}
		}
	}
}

func TestTheSidecarKnowsNoKubernetes(t *testing.T) {
	for _, p := range list(t) {
		if p.name() != "cmd/sidecar" {
			continue
		}
		for _, dep := range p.Deps {
			if strings.HasPrefix(dep, "k8s.io/") {
				t.Errorf("cmd/sidecar depends on %s: it must start and serve without an API server, and its image must stay small; what asks Kubernetes belongs to cmd/injector", dep)
			}
		}
	}
}

func TestInboundAndOutboundAreSiblings(t *testing.T) {
	siblings := []string{"pkg/inbound", "pkg/outbound"}
	for _, p := range list(t) {
		if !slices.Contains(siblings, p.name()) {
			continue
		}
		for _, dep := range ours(p.Deps) {
			if slices.Contains(siblings, dep) {
				t.Errorf("%s depends on %s: put what both need below them, into the package whose job it is", p.name(), dep)
			}
		}
	}
}

func TestNothingImportsTests(t *testing.T) {
	for _, p := range list(t) {
		for _, dep := range ours(p.Deps) {
			if strings.HasPrefix(dep, "test/") {
				t.Errorf("%s depends on %s: the product must not need its tests", p.name(), dep)
			}
		}
	}
}
