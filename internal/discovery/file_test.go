package discovery

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"graylane/test/harness"
)

// put replaces a file as an editor does.
func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path+"~", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+"~", path); err != nil {
		t.Fatal(err)
	}
}

func list(addresses ...string) string {
	return `[{"targets": ["` + strings.Join(addresses, `", "`) + `"]}]`
}

func TestAFileIsReadAgainWheneverItChanges(t *testing.T) {
	for _, c := range []struct {
		name string
		tick time.Duration // an hour: events are all there is
	}{{"by events", time.Hour}, {"by looking", 5 * time.Millisecond}} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "endpoints.json")
			put(t, path, list("a:1"))
			to := &sink{}
			start(t, &File{Path: path, tick: c.tick}, to)
			has := func(addresses ...string) func() bool {
				return func() bool { return cmp.Equal(to.last(), addresses) }
			}
			harness.WaitFor(t, "the first list", has("a:1"))
			put(t, path, list("a:1", "b:1"))
			harness.WaitFor(t, "the second list", has("a:1", "b:1"))

			put(t, path, `[{"targets": [`)
			harness.WaitFor(t, "the broken list is told", func() bool { return strings.Contains(to.lastError(), path+":1:") })
			if diff := cmp.Diff(to.last(), []string{"a:1", "b:1"}); diff != "" {
				t.Errorf("after a broken list the endpoints differ (-got +want):\n%s", diff)
			}
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			harness.WaitFor(t, "the missing file is told", func() bool { return strings.Contains(to.lastError(), "no such file") })
			put(t, path, list("a:1", "b:1"))
			harness.WaitFor(t, "the list that is back", func() bool { sets, _ := to.counts(); return sets >= 3 })
			put(t, path, "[]")
			harness.WaitFor(t, "no endpoints", func() bool { return to.last() != nil && len(to.last()) == 0 })
		})
	}
}

func TestAConfigMapIsReadAgain(t *testing.T) {
	dir := t.TempDir()
	generation := func(name, text string) {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		put(t, filepath.Join(dir, name, "endpoints.json"), text)
		if err := os.Symlink(name, filepath.Join(dir, "..data_tmp")); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")); err != nil {
			t.Fatal(err)
		}
	}
	generation("..1", list("a:1"))
	path := filepath.Join(dir, "endpoints.json")
	if err := os.Symlink("..data/endpoints.json", path); err != nil {
		t.Fatal(err)
	}
	to := &sink{}
	start(t, &File{Path: path, tick: time.Hour}, to)
	harness.WaitFor(t, "the first generation", func() bool { return cmp.Equal(to.last(), []string{"a:1"}) })
	for _, next := range []string{"2", "3"} {
		generation(".."+next, list("a:"+next))
		harness.WaitFor(t, "the next generation", func() bool { return cmp.Equal(to.last(), []string{"a:" + next}) })
	}
}

func TestAFileThatIsFarTooLargeIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "endpoints.json")
	put(t, path, strings.Repeat(" ", mostFile+1))
	to := &sink{}
	start(t, &File{Path: path, tick: time.Hour}, to)
	harness.WaitFor(t, "the size is told", func() bool { return strings.Contains(to.lastError(), "larger than 4 MiB") })
}

func TestANeighbourThatIsWrittenWithoutAPausePutsNothingOff(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "endpoints.json")
	put(t, path, list("a:1"))
	to := &sink{}
	start(t, &File{Path: path, tick: time.Hour}, to)
	var stop atomic.Bool
	var writers sync.WaitGroup
	for i := range 4 { // so that there is no pause when one of them has to wait
		writers.Go(func() {
			for ; !stop.Load(); time.Sleep(2 * time.Millisecond) {
				if err := os.WriteFile(filepath.Join(dir, strconv.Itoa(i)), []byte("line\n"), 0o600); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	harness.WaitFor(t, "the first list", func() bool { return cmp.Equal(to.last(), []string{"a:1"}) })
	inTime(t, 10*storm, func(n int) {
		next := fmt.Sprintf("b:%d", n+1)
		put(t, path, list(next))
		harness.WaitFor(t, "the next list", func() bool { return cmp.Equal(to.last(), []string{next}) })
	})
	stop.Store(true)
	writers.Wait()
}
