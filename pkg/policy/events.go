package policy

import (
	"log/slog"
	"os"
	"path/filepath"

	"github.com/fsnotify/fsnotify"
)

// events tells that something happened around a file. It watches directories:
// a ConfigMap update turns a symlink beside the file, an editor puts another
// file in its place, and both leave a watch on the file itself behind.
type events struct {
	path    string
	notify  func() (*fsnotify.Watcher, error)
	log     *slog.Logger
	watcher *fsnotify.Watcher      // nil: there are no events
	watched map[string]os.FileInfo // directories, as they were when the watch began
	signal  chan struct{}
	done    chan struct{}
	told    bool // the log says already that there are no events
}

func newEvents(path string, notify func() (*fsnotify.Watcher, error), log *slog.Logger) *events {
	if notify == nil {
		notify = fsnotify.NewWatcher
	}
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	e := &events{
		path:   filepath.Clean(path),
		notify: notify,
		log:    log,
		signal: make(chan struct{}, 1),
		done:   make(chan struct{}),
	}
	e.rewatch()
	return e
}

// happened yields after one or more events.
func (e *events) happened() <-chan struct{} { return e.signal }

// rewatch makes the watches fit what is there now: the directory of the file
// may have been replaced, and the file may be a link to somewhere else.
func (e *events) rewatch() {
	if !e.open() {
		return
	}
	wanted := e.directories()
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
	}
}

// directories returns where something can happen that changes the file: its
// directory, the one above, which sees it replaced, and that of what the file
// links to.
func (e *events) directories() map[string]os.FileInfo {
	dir := filepath.Dir(e.path)
	found := make(map[string]os.FileInfo, 3)
	for _, d := range [...]string{dir, filepath.Dir(dir), e.target()} {
		if info, err := os.Stat(d); err == nil {
			found[d] = info
		}
	}
	return found
}

func (e *events) target() string {
	file, err := filepath.EvalSymlinks(e.path)
	if err != nil {
		return filepath.Dir(e.path)
	}
	return filepath.Dir(file)
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
	go e.listen(watcher)
	return true
}

// listen passes on that something happened, not what: the kind of an event
// says little (a ConfigMap update is seen as a write here, a create there),
// and an overflow is an event as well.
func (e *events) listen(watcher *fsnotify.Watcher) {
	defer close(e.done)
	for {
		select {
		case event, ok := <-watcher.Events:
			if !ok {
				return
			}
			if !e.concerns(event.Name) {
				continue
			}
		case _, ok := <-watcher.Errors:
			if !ok {
				return
			}
		}
		select {
		case e.signal <- struct{}{}:
		default:
		}
	}
}

// concerns leaves out what happens to the neighbours of the directory.
func (e *events) concerns(name string) bool {
	dir := filepath.Dir(e.path)
	if filepath.Dir(name) != filepath.Dir(dir) || filepath.Dir(dir) == dir {
		return true
	}
	return filepath.Clean(name) == dir
}

func (e *events) close() {
	if e.watcher == nil {
		return
	}
	_ = e.watcher.Close() // nothing to lose: it only reads
	<-e.done
}
