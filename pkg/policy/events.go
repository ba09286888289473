package policy

import (
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/fsnotify/fsnotify"
)

// events tells that something happened around a file and its lists. It watches
// directories: a ConfigMap update turns a symlink beside the file, an editor
// puts another file in its place, and both leave a watch on the file itself
// behind.
type events struct {
	path    string
	notify  func() (*fsnotify.Watcher, error)
	log     *slog.Logger
	watcher *fsnotify.Watcher      // nil: there are no events
	watched map[string]os.FileInfo // directories, as they were when the watch began
	whole   map[string]bool        // those in which everything counts
	dir     string                 // the directory of the file, by its name in the one above
	told    bool                   // the log says already that there are no events

	changes <-chan fsnotify.Event
	losses  <-chan error // events were lost: something has happened
}

func newEvents(path string, notify func() (*fsnotify.Watcher, error), log *slog.Logger) *events {
	if notify == nil {
		notify = fsnotify.NewWatcher
	}
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	e := &events{path: filepath.Clean(path), notify: notify, log: log}
	e.rewatch(nil)
	return e
}

// rewatch makes the watches fit what is there now, and tells whether some are
// new: the directory of the file may have been replaced, the file may be a link
// to somewhere else, and it may name lists in other folders.
func (e *events) rewatch(lists []list) (fresh bool) {
	if !e.open() {
		return false
	}
	wanted := e.directories(lists)
	for dir := range e.watched {
		if wanted[dir] == nil {
			_ = e.watcher.Remove(dir) // gone with the directory in most cases
			delete(e.watched, dir)
		}
	}
	for dir, info := range wanted {
		if was, ok := e.watched[dir]; ok && os.SameFile(was, info) {
			continue
		}
		_ = e.watcher.Remove(dir) // the watch is on what was there before
		delete(e.watched, dir)
		if err := e.watcher.Add(dir); err != nil {
			e.log.Debug("directory is not watched", "directory", dir, "error", err)
			continue
		}
		e.watched[dir] = info
		fresh = true
	}
	return fresh
}

// directories returns where something can happen that changes the file or its
// lists: their directories, those of the links on the way to them, and the one
// above, which sees the directory of the file replaced.
func (e *events) directories(lists []list) map[string]os.FileInfo {
	files := links(e.path)
	home := placeOf(filepath.Dir(files[len(files)-1]))
	for _, l := range lists {
		files = append(files, links(filepath.Join(home, l.name))...)
	}
	e.whole = make(map[string]bool, len(files))
	for _, file := range files {
		e.whole[placeOf(filepath.Dir(file))] = true
	}
	dir := filepath.Dir(e.path)
	above := placeOf(filepath.Dir(dir))
	e.dir = filepath.Join(above, filepath.Base(dir))
	found := make(map[string]os.FileInfo, len(e.whole)+1)
	for _, d := range append(slices.Collect(maps.Keys(e.whole)), above) {
		if info, err := os.Stat(d); err == nil {
			found[d] = info
		}
	}
	return found
}

// links returns path, what it links to, and so on to the last.
func links(path string) []string {
	const most = 40 // more is a circle: for Linux too
	found := []string{path}
	for range most {
		to, err := os.Readlink(path)
		if err != nil {
			break
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(placeOf(filepath.Dir(path)), to)
		}
		path = to
		found = append(found, path)
	}
	return found
}

// placeOf returns where dir is once links are followed, dir itself where it is not
// there: only so is `..` the one above, and only so has each a name of its own.
func placeOf(dir string) string {
	if place, err := filepath.EvalSymlinks(dir); err == nil {
		return place
	}
	return dir
}

// open starts listening unless that is done, and tells whether it works.
func (e *events) open() bool {
	if e.watcher != nil {
		return true
	}
	watcher, err := e.notify()
	if err != nil {
		if !e.told {
			e.told = true
			e.log.Warn("no file events, the policy is read every 5 s", "error", err)
		}
		return false
	}
	e.watcher, e.watched = watcher, make(map[string]os.FileInfo)
	e.changes, e.losses = watcher.Events, watcher.Errors
	return true
}

// concern tells whether what happened to the file of that name counts. What it
// was says little: a ConfigMap update is seen as a write here, a create there.
func (e *events) concern(name string) bool {
	return e.whole[filepath.Dir(name)] || filepath.Clean(name) == e.dir
}

func (e *events) close() {
	if e.watcher != nil {
		_ = e.watcher.Close() // nothing to lose: it only reads
	}
}
