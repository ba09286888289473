package policy

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
)

func TestWatcherSeesConfigMapSwaps(t *testing.T) {
	w := newWatch(t)
	w.swap(0, map[string]string{"policy.yaml": generation(0)})
	w.run()
	w.wantGeneration(0)
	for n := 1; n <= 5; n++ {
		w.swap(n, map[string]string{"policy.yaml": generation(n)})
		w.wantGeneration(n)
	}
}

func TestWatcherSeesListsChangeWithTheirConfigMap(t *testing.T) {
	const text = `apiVersion: graylane.dev/v1
rules: [{name: testers, tag: gray, matches: [{headers: [{name: U, valuesFrom: {files: [a.txt, b.txt]}}]}]}]`
	w := newWatch(t)
	w.swap(0, map[string]string{"policy.yaml": text, "a.txt": "1\n2\n", "b.txt": "3"})
	w.run()
	first := <-w.applied
	w.swap(1, map[string]string{"policy.yaml": text, "a.txt": "1\n2\n", "b.txt": "4"})
	second := <-w.applied
	if first.Digest == second.Digest {
		t.Errorf("both generations have digest %s, want it to change with a list", first.Digest)
	}
	for user, want := range map[string][2]string{"1": {"gray", "gray"}, "3": {"gray", "base"}, "4": {"base", "gray"}} {
		r := Request{Headers: fields{"U": user}}
		before, _ := first.Tag(&r)
		after, _ := second.Tag(&r)
		if got := [2]string{before, after}; got != want {
			t.Errorf("user %s: %v, want %v", user, got, want)
		}
	}
}

func TestWatcherSeesEveryWayToChangeAFile(t *testing.T) {
	for name, change := range map[string]func(w *watch, text string){
		"rewrite":        func(w *watch, text string) { w.write(w.watcher.Path, text) },
		"save by rename": func(w *watch, text string) { w.save(text) },
		"delete and restore": func(w *watch, text string) {
			w.remove(w.watcher.Path)
			w.wantBad("no such file")
			w.write(w.watcher.Path, text)
		},
		"directory replaced": func(w *watch, text string) {
			w.remove(w.dir)
			w.wantBad("no such file")
			w.mkdir(w.dir)
			w.write(w.watcher.Path, text)
		},
		"directory swapped": func(w *watch, text string) {
			w.mkdir(w.dir + ".new")
			w.write(filepath.Join(w.dir+".new", "policy.yaml"), text)
			w.rename(w.dir, w.dir+".old")
			w.rename(w.dir+".new", w.dir)
			w.remove(w.dir + ".old")
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWatch(t)
			w.write(w.watcher.Path, generation(0))
			w.run()
			w.wantGeneration(0)
			for n := 1; n <= 3; n++ {
				change(w, generation(n))
				w.wantGeneration(n)
			}
		})
	}
}

func TestWatcherSeesWhatALinkPointsTo(t *testing.T) {
	w := newWatch(t)
	elsewhere := filepath.Join(t.TempDir(), "gray.yaml")
	w.write(elsewhere, generation(1))
	w.link(elsewhere, w.watcher.Path)
	w.run()
	w.wantGeneration(1)
	w.write(elsewhere, generation(2))
	w.wantGeneration(2)
}

func TestWatcherReadsEveryFewSecondsWithoutEvents(t *testing.T) {
	w := newWatch(t)
	w.watcher.every = 5 * time.Millisecond
	w.watcher.notify = func() (*fsnotify.Watcher, error) { return nil, errors.New("too many open files") }
	w.write(w.watcher.Path, generation(1))
	w.run()
	w.wantGeneration(1)
	w.write(w.watcher.Path, generation(2))
	w.wantGeneration(2)
	if got := strings.Count(w.log.String(), "no file events"); got != 1 {
		t.Errorf("the log says %d times that there are no events, want once:\n%s", got, w.log)
	}
}

func TestWatcherReadsAgainWhenEventsWereLost(t *testing.T) {
	w := newWatch(t)
	var inner *fsnotify.Watcher
	w.watcher.notify = func() (*fsnotify.Watcher, error) {
		var err error
		inner, err = fsnotify.NewWatcher()
		return inner, err
	}
	w.write(w.watcher.Path, generation(1))
	w.run()
	w.wantGeneration(1)
	for _, dir := range inner.WatchList() {
		if err := inner.Remove(dir); err != nil {
			t.Fatal(err)
		}
	}
	w.write(w.watcher.Path, generation(2))
	inner.Errors <- fsnotify.ErrEventOverflow
	w.wantGeneration(2)
}

func TestAStormOfUpdatesEndsWithTheLast(t *testing.T) {
	w := newWatch(t)
	w.write(w.watcher.Path, generation(0))
	w.run()
	w.wantGeneration(0)
	const updates = 2000
	for n := 1; n <= updates; n++ {
		w.save(generation(n))
	}
	loads := len(w.applied)
	w.wantGeneration(updates)
	if loads > 50 {
		t.Errorf("%d loads for %d updates, want a few dozen at most", loads, updates)
	}
}

func TestTheNextPolicyWaitsUntilTheLastIsApplied(t *testing.T) {
	w := newWatch(t)
	entered, release := make(chan string, 100), make(chan struct{})
	w.watcher.Apply = func(p *Policy) {
		entered <- p.Rules[0].Name
		<-release
	}
	w.write(w.watcher.Path, generation(0))
	w.run()
	if got := <-entered; got != "g0" {
		t.Fatalf("first policy is %s", got)
	}
	for n := 1; n <= 50; n++ {
		w.write(w.watcher.Path, generation(n))
	}
	select {
	case got := <-entered:
		t.Fatalf("policy %s is applied while another is", got)
	default:
	}
	close(release)
	for got := ""; got != "g50"; got = <-entered {
	}
}

func TestABadPolicyIsReportedOnceAndChangesNothing(t *testing.T) {
	w := newWatch(t)
	w.watcher.every = 5 * time.Millisecond // many looks at the same bad content
	w.save(generation(1))
	w.run()
	w.wantGeneration(1)
	w.save("gen: [2")
	w.wantBad("policy.yaml:1:1: no YAML")
	w.save(generation(2))
	w.wantGeneration(2)
	w.save("")
	w.wantBad("empty, want a policy")
	w.save(generation(2))
	w.wantGeneration(2) // the same again: it is in force, and that is said
	w.remove(w.watcher.Path)
	w.wantBad("no such file")
	w.save(generation(3))
	w.wantGeneration(3)
	if got := len(w.bad); got != 0 {
		t.Errorf("%d more reports of bad policies: %v", got, <-w.bad)
	}
	if got := strings.Count(w.log.String(), "bad policy"); got != 3 {
		t.Errorf("%d log lines about bad policies, want 3:\n%s", got, w.log)
	}
}

func TestAWatcherStartsWithoutAFileAndTakesTheFirstGoodOne(t *testing.T) {
	w := newWatch(t)
	w.remove(w.dir)
	w.run()
	w.wantBad("no such file")
	w.mkdir(w.dir)
	w.write(w.watcher.Path, generation(1))
	w.wantGeneration(1)
}

func TestTheLastGoodPolicySurvivesARestart(t *testing.T) {
	const list = "rules: [{name: list, tag: gray, matches: [{headers: [{name: U, valuesFrom: {files: [sub/a.txt]}}]}]}]"
	state := filepath.Join(t.TempDir(), "state")
	first := newWatch(t)
	first.watcher.State = state
	first.write(first.watcher.Path, generation(1))
	first.run()
	first.wantGeneration(1)
	first.mkdir(filepath.Join(first.dir, "sub"))
	first.write(filepath.Join(first.dir, "sub/a.txt"), "7\n")
	first.write(first.watcher.Path, "apiVersion: graylane.dev/v1\n"+list)
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

func TestAStateFolderThatCannotBeWrittenHurtsNobody(t *testing.T) {
	w := newWatch(t)
	w.watcher.State = filepath.Join(w.dir, "policy.yaml", "state")
	w.write(w.watcher.Path, generation(1))
	w.run()
	w.wantGeneration(1)
	w.write(w.watcher.Path, generation(2))
	w.wantGeneration(2)
}

func TestAWatcherWithoutAPathIsAnError(t *testing.T) {
	w := Watcher{Apply: func(*Policy) {}}
	if err := w.Run(context.Background()); err == nil {
		t.Error("no error")
	}
}
