package policy

import (
	"context"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/google/go-cmp/cmp"
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
	begun := time.Now()
	for n := 1; n <= updates; n++ {
		w.save(generation(n))
	}
	loads, took := len(w.applied), time.Since(begun)
	w.wantGeneration(updates)
	if most := max(50, int(took/quiet)); loads > most { // on a slow machine there is a pause now and then
		t.Errorf("%d loads for %d updates in %v, want %d at most", loads, updates, took, most)
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

// What operators read is what is in force, and each fault by itself.
func TestTheLogSaysWhatIsInForceWhenAPolicyIsBad(t *testing.T) {
	const twoFaults = "apiVersion: graylane.dev/v1\nenabld: true\nheader: a b\n"
	w := newWatch(t)
	w.save(twoFaults)
	w.run()
	w.wantBad("enabld")
	w.save(generation(1))
	p := w.wantNew()
	w.save(twoFaults + "# again\n")
	w.wantBad("enabld")
	w.stop()
	var got []string
	for line := range strings.Lines(w.log.String()) {
		_, said, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " level=")
		got = append(got, said)
	}
	faults := ` faults.1="` + w.watcher.Path + `:2:1: enabld: unknown key; did you mean \"enabled\"?"` +
		` faults.2="` + w.watcher.Path + `:3:9: header: \"a b\", want the name of a header"`
	want := []string{
		`ERROR msg="bad policy, and no other is in force" path=` + w.watcher.Path + faults,
		`ERROR msg="bad policy, the last good one stays in force" path=` + w.watcher.Path + ` digest=` + p.Digest + faults,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
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

func TestWhatIsNoRegularFileIsRefused(t *testing.T) {
	w := newWatch(t)
	write := func(n int) {
		if err := os.WriteFile(w.watcher.Path, []byte(generation(n)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	replace := func(put func(path string) error) {
		if err := os.Remove(w.watcher.Path); err != nil {
			t.Fatal(err)
		}
		if err := put(w.watcher.Path); err != nil {
			t.Fatal(err)
		}
	}
	write(0)
	w.run()
	w.wantGeneration(0)
	for i, test := range []struct {
		want string
		make func(path string) error
	}{
		{"a named pipe, want a file", func(path string) error { return syscall.Mkfifo(path, 0o600) }},
		{"a directory, want a file", func(path string) error { return os.Mkdir(path, 0o700) }},
		{"a device, want a file", func(path string) error { return os.Symlink(os.DevNull, path) }},
		{"a socket, want a file", bindSocket},
	} {
		replace(test.make)
		for err := range w.bad {
			if strings.Contains(err.Error(), test.want) {
				break
			}
		}
		replace(func(string) error { return nil })
		write(i + 1)
		w.wantGeneration(i + 1)
	}
}

func bindSocket(path string) error {
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	return errors.Join(syscall.Bind(fd, &syscall.SockaddrUnix{Name: path}), syscall.Close(fd))
}

func TestAWatcherWithoutAPathIsAnError(t *testing.T) {
	w := Watcher{Apply: func(*Policy) {}}
	if err := w.Run(context.Background()); err == nil {
		t.Error("no error")
	}
}
