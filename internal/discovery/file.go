package discovery

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	quiet = 100 * time.Millisecond // editors and the kubelet write several events per update
	storm = 400 * time.Millisecond // a neighbour that is written without a pause puts nothing off for longer
	every = 5 * time.Second        // events get lost, and inotify may not be had
	// mostFile is more than any list of endpoints has, and keeps a wrong path from
	// taking the memory of the app beside us.
	mostFile = 4 << 20 // bytes
)

// File reads endpoints from a file in the JSON form of Prometheus' file_sd, again
// whenever it changes. A file that cannot be read, or is no such list, is a
// failure.
type File struct {
	Path   string
	Labels map[string]string // of the groups that count; "": those without the label
	Log    *slog.Logger      // nil: nothing is logged

	tick time.Duration // 0: every
}

// String is part of [Source].
func (f *File) String() string {
	name := "file " + f.Path
	for _, label := range slices.Sorted(maps.Keys(f.Labels)) {
		name += fmt.Sprintf(" %s=%q", label, f.Labels[label])
	}
	return name
}

// Run is part of [Source]. What is in a file is not asked for, so that doubts make no
// difference.
func (f *File) Run(ctx context.Context, to Sink, _ <-chan struct{}) {
	w := &watch{file: f}
	defer w.close()
	tick := f.tick
	if tick == 0 {
		tick = every
	}
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	var last [sha256.Size]byte
	for {
		w.follow()
		last = f.look(last, to)
		select {
		case <-ctx.Done():
			return
		case <-w.events():
			w.settle(ctx)
		case err := <-w.errors(): // an overflow: something has happened
			w.tell("file events were lost", err)
		case <-ticker.C:
		}
	}
}

// look reads the file and sends what it says, if that differs from the last time.
// A failure is sent each time.
func (f *File) look(last [sha256.Size]byte, to Sink) [sha256.Size]byte {
	data, err := f.read()
	if err != nil {
		to.Stale(err)
		return [sha256.Size]byte{}
	}
	sum := sha256.Sum256(data)
	if sum == last {
		return last
	}
	targets, err := parse(data, f.Labels)
	if err != nil {
		to.Stale(fmt.Errorf("%s%w", f.Path, err))
		return [sha256.Size]byte{}
	}
	to.Set(targets)
	return sum
}

func (f *File) read() ([]byte, error) {
	info, err := os.Stat(f.Path)
	if err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("reading endpoints: %s is no regular file", f.Path) // a named pipe would be waited on for ever
	}
	// Not to wait, should one have been put there since.
	file, err := os.OpenFile(f.Path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("reading endpoints: %w", err)
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, mostFile+1))
	if err != nil {
		return nil, fmt.Errorf("reading endpoints: %w", err)
	}
	if len(data) > mostFile {
		return nil, fmt.Errorf("reading endpoints: %s is larger than %d MiB", f.Path, mostFile>>20)
	}
	return data, nil
}

// watch hears of changes around a file. It watches directories: who replaces a
// file leaves a watch on the old one behind.
type watch struct {
	file    *File
	watcher *fsnotify.Watcher // nil: there are no events
	told    bool              // the log says already what is wrong with them
}

// follow watches the directory of the file and that of what it links to, as they
// are now.
func (w *watch) follow() {
	if w.watcher == nil {
		watcher, err := fsnotify.NewWatcher()
		if err != nil {
			w.tell("no file events, endpoints are read every 5 s", err)
			return
		}
		w.watcher = watcher
	}
	directories := []string{filepath.Dir(w.file.Path)}
	if target, err := filepath.EvalSymlinks(w.file.Path); err == nil {
		directories = append(directories, filepath.Dir(target))
	}
	for _, old := range w.watcher.WatchList() {
		if !slices.Contains(directories, old) {
			_ = w.watcher.Remove(old) // gone with the directory in most cases
		}
	}
	for _, dir := range directories {
		_ = w.watcher.Add(dir) // where it fails the ticker is all there is
	}
}

// events yields after something has happened; never, where there are no events.
func (w *watch) events() <-chan fsnotify.Event {
	if w.watcher == nil {
		return nil
	}
	return w.watcher.Events
}

// tell logs the first thing that is wrong with the events.
func (w *watch) tell(what string, err error) {
	if !w.told && w.file.Log != nil {
		w.file.Log.Warn("file events fail", "file", w.file.Path, "what", what, "error", err)
	}
	w.told = true
}

func (w *watch) errors() <-chan error {
	if w.watcher == nil {
		return nil
	}
	return w.watcher.Errors
}

// settle waits until nothing has happened for a while, or has not stopped to.
func (w *watch) settle(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, storm)
	defer cancel()
	still := time.NewTimer(quiet)
	defer still.Stop()
	for {
		select {
		case <-w.watcher.Events:
			still.Reset(quiet)
		case err := <-w.watcher.Errors:
			w.tell("file events were lost", err)
			still.Reset(quiet)
		case <-still.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

func (w *watch) close() {
	if w.watcher != nil {
		_ = w.watcher.Close() // nothing to lose: it only reads
	}
}

// position says where in the data the last of so many bytes is: line and column,
// from 1.
func position(data []byte, read int64) string {
	before := string(data[:min(max(read-1, 0), int64(len(data)))])
	line := strings.Count(before, "\n") + 1
	return fmt.Sprintf(":%d:%d", line, len(before)-strings.LastIndex(before, "\n"))
}
