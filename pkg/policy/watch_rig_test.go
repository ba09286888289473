package policy

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// patience is far above what a loaded machine needs.
const patience = time.Minute

// watch is a Watcher at work on a file of its own.
type watch struct {
	t       *testing.T
	dir     string
	watcher *Watcher
	applied chan *Policy
	bad     chan error
	log     *lockedBuffer
	stop    func() // ends Run and waits for it
}

// newWatch prepares a watch whose ticks never come, so that what is seen is
// seen by events.
func newWatch(t *testing.T) *watch {
	w := &watch{
		t:       t,
		dir:     filepath.Join(t.TempDir(), "graylane"),
		applied: make(chan *Policy, 10_000),
		bad:     make(chan error, 10_000),
		log:     new(lockedBuffer),
	}
	w.mkdir(w.dir)
	w.watcher = &Watcher{
		Path:  filepath.Join(w.dir, "policy.yaml"),
		Apply: func(p *Policy) { w.applied <- p },
		Bad:   func(err error) { w.bad <- err },
		Log:   slog.New(slog.NewTextHandler(w.log, nil)),
		every: time.Hour,
	}
	return w
}

func (w *watch) run() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.watcher.Run(ctx) }()
	w.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			w.t.Errorf("run: %v", err)
		}
	})
	w.t.Cleanup(w.stop)
}

// generation returns the text of a policy that is told by its rule's name.
func generation(n int) string {
	return fmt.Sprintf("apiVersion: graylane.dev/v1\nrules: [{name: g%d, tag: gray}]\n", n)
}

// wantGeneration waits until generation n is in force.
func (w *watch) wantGeneration(n int) {
	w.t.Helper()
	w.wantRule(fmt.Sprintf("g%d", n))
}

func (w *watch) wantRule(name string) {
	w.t.Helper()
	late := time.After(patience)
	for {
		select {
		case p := <-w.applied:
			if p.Rules[0].Name == name {
				return
			}
		case <-late:
			w.t.Fatalf("policy with rule %s is not in force after %v; log:\n%s", name, patience, w.log)
		}
	}
}

// wantNew returns the next policy that is applied.
func (w *watch) wantNew() *Policy {
	w.t.Helper()
	select {
	case p := <-w.applied:
		return p
	case <-time.After(patience):
		w.t.Fatalf("no policy in %v; log:\n%s", patience, w.log)
		return nil
	}
}

func (w *watch) wantBad(part string) {
	w.t.Helper()
	select {
	case err := <-w.bad:
		if !strings.Contains(err.Error(), part) {
			w.t.Fatalf("bad policy: %v, want %q in it", err, part)
		}
	case p := <-w.applied:
		w.t.Fatalf("policy with rule %s was applied, want a bad one; log:\n%s", p.Rules[0].Name, w.log)
	case <-time.After(patience):
		w.t.Fatalf("no bad policy after %v; log:\n%s", patience, w.log)
	}
}

func (w *watch) mkdir(path string) {
	w.t.Helper()
	if err := os.MkdirAll(path, 0o755); err != nil {
		w.t.Fatal(err)
	}
}

func (w *watch) write(path, text string) {
	w.t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

// save puts the policy in place as a whole.
func (w *watch) save(text string) {
	w.t.Helper()
	w.write(w.watcher.Path+".tmp", text)
	w.rename(w.watcher.Path+".tmp", w.watcher.Path)
}

func (w *watch) rename(from, to string) {
	w.t.Helper()
	if err := os.Rename(from, to); err != nil {
		w.t.Fatal(err)
	}
}

func (w *watch) link(to, path string) {
	w.t.Helper()
	if err := os.Symlink(to, path); err != nil {
		w.t.Fatal(err)
	}
}

func (w *watch) remove(path string) {
	w.t.Helper()
	if err := os.RemoveAll(path); err != nil {
		w.t.Fatal(err)
	}
}

// beside returns a path next to the folder of the policy.
func (w *watch) beside(name string) string { return filepath.Join(filepath.Dir(w.dir), name) }

// swap publishes files as the kubelet does with a ConfigMap.
func (w *watch) swap(n int, files map[string]string) {
	w.t.Helper()
	fresh := fmt.Sprintf("..2026_%d", n)
	w.mkdir(filepath.Join(w.dir, fresh))
	for name, text := range files {
		w.write(filepath.Join(w.dir, fresh, name), text)
	}
	old, _ := os.Readlink(filepath.Join(w.dir, "..data"))
	w.link(fresh, filepath.Join(w.dir, "..data_tmp"))
	w.rename(filepath.Join(w.dir, "..data_tmp"), filepath.Join(w.dir, "..data"))
	for name := range files {
		if _, err := os.Lstat(filepath.Join(w.dir, name)); err != nil {
			w.link(filepath.Join("..data", name), filepath.Join(w.dir, name))
		}
	}
	if old != "" {
		w.remove(filepath.Join(w.dir, old))
	}
}

// lockedBuffer is a log that is read while it is written.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
