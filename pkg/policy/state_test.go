package policy

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheLastGoodPolicySurvivesARestart(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	first := newWatch(t)
	first.watcher.State = state
	first.write(first.watcher.Path, generation(1))
	first.run()
	first.wantGeneration(1)
	first.mkdir(filepath.Join(first.dir, "sub"))
	first.write(filepath.Join(first.dir, "sub/a.txt"), "7\n")
	first.write(first.watcher.Path, listing("sub/a.txt"))
	first.wantRule("list")
	first.write(first.watcher.Path, "broken: [")
	first.wantBad("no YAML")
	first.stop()

	second := newWatch(t)
	second.watcher.State = state
	second.run()
	p := <-second.applied
	second.wantBad("no such file")
	if tag, _ := p.Tag(&Request{Headers: fields{"U": "7"}}); tag != Gray {
		t.Errorf("user 7 of the kept list is %s, want gray", tag)
	}
	if !strings.Contains(second.log.String(), "last good policy in force") {
		t.Errorf("the log does not say that the kept policy is in force:\n%s", second.log)
	}
	second.write(second.watcher.Path, generation(2))
	second.wantGeneration(2)
	second.stop()

	entries, err := os.ReadDir(state)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 2 {
		t.Errorf("the state folder holds %v, want the link and one policy", entries)
	}
}

// A list that changes while the policy is put in force is of the next
// generation: what is kept is what was compiled.
func TestWhatIsKeptIsWhatWasCompiled(t *testing.T) {
	w := newWatch(t)
	w.watcher.State = filepath.Join(t.TempDir(), "state")
	w.write(filepath.Join(w.dir, "a.txt"), "1\n")
	w.write(w.watcher.Path, listing("a.txt", "./a.txt"))
	var compiled string
	w.watcher.Apply = func(p *Policy) {
		if compiled == "" {
			compiled = p.Digest
			w.write(filepath.Join(w.dir, "a.txt"), "2\n")
			w.remove(w.watcher.Path)
		}
		w.applied <- p
	}
	w.run()
	<-w.applied
	w.wantBad("no such file") // the policy before was kept by now
	kept := state{dir: w.watcher.State}
	p, err := kept.load()
	if err != nil {
		t.Fatal(err)
	}
	if p.Digest != compiled {
		t.Errorf("digest %s is kept, compiled was %s", p.Digest, compiled)
	}
	if tag, _ := p.Tag(&Request{Headers: fields{"U": "1"}}); tag != Gray {
		t.Errorf("user 1 of the list that was compiled is %s, want gray", tag)
	}
}

func TestAListMayHaveTheNameOfThePolicyThatIsKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gray.yaml")
	writeText(t, filepath.Join(filepath.Dir(path), stateFile), "7\n")
	writeText(t, path, listing(stateFile))
	want, c, err := load(path)
	if err != nil {
		t.Fatal(err)
	}
	kept := state{dir: t.TempDir()}
	if err := kept.save(&c); err != nil {
		t.Fatal(err)
	}
	got, err := kept.load()
	if err != nil {
		t.Fatal(err)
	}
	if got.Digest != want.Digest {
		t.Errorf("digest %s is kept, want %s", got.Digest, want.Digest)
	}
}

// Lists hold ids of users.
func TestNobodyElseMayReadWhatIsKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.MkdirAll(filepath.Join(filepath.Dir(path), "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	writeText(t, filepath.Join(filepath.Dir(path), "sub/a.txt"), "7\n")
	writeText(t, path, listing("sub/a.txt"))
	_, c, err := load(path)
	if err != nil {
		t.Fatal(err)
	}
	kept := state{dir: filepath.Join(t.TempDir(), "new", "state")}
	if err := kept.save(&c); err != nil {
		t.Fatal(err)
	}
	got := map[string]int{} // how many of each mode
	err = filepath.WalkDir(kept.dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Type()&fs.ModeSymlink != 0 {
			return err
		}
		info, err := entry.Info()
		got[info.Mode().String()]++
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	// state, good-x, lists, sub; the policy and its list.
	if diff := cmp.Diff(map[string]int{"drwx------": 4, "-rw-------": 2}, got); diff != "" {
		t.Errorf("modes (-want +got):\n%s", diff)
	}
}

func TestARestoredPolicySaysWhichEndpointsWereNotKept(t *testing.T) {
	w := newWatch(t)
	w.watcher.State = t.TempDir()
	w.write(w.watcher.Path, "apiVersion: graylane.dev/v1\nrules: [{name: r, tag: gray}]\n"+
		"services: [{name: users, versions: [{tag: base, endpoints: [a]}, {tag: gray, file: gray.json}]}]")
	w.run()
	w.wantRule("r")
	w.remove(w.watcher.Path)
	w.wantBad("no such file")
	w.stop()
	again := newWatch(t)
	again.watcher.State = w.watcher.State
	again.run()
	again.wantRule("r")
	again.wantBad("no such file")
	const want = `endpoints are not kept with the last good policy, they are read where they are" service=users tag=gray file=gray.json`
	if got := again.log.String(); !strings.Contains(got, want) {
		t.Errorf("the log does not say %s:\n%s", want, got)
	}
}

func TestAStateFolderThatCannotBeWrittenHurtsNobody(t *testing.T) {
	w := newWatch(t)
	w.watcher.State = filepath.Join(w.dir, "policy.yaml", "state")
	w.write(w.watcher.Path, generation(1))
	w.run()
	w.wantGeneration(1)
	w.write(w.watcher.Path, generation(2))
	w.wantGeneration(2)
}

// listing returns a policy that takes the users in lists.
func listing(lists ...string) string {
	return fmt.Sprintf("apiVersion: graylane.dev/v1\nrules: [{name: list, tag: gray, matches: [{headers: [{name: U, valuesFrom: {files: [%s]}}]}]}]",
		strings.Join(lists, ", "))
}
