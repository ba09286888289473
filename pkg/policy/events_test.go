package policy

import (
	"fmt"
	"path/filepath"
	"testing"
)

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

func TestWatcherSeesWhatLinksPointTo(t *testing.T) {
	for name, test := range map[string]struct {
		prepare func(w *watch)        // puts a policy in place
		change  func(w *watch, n int) // changes it or a list of it
	}{
		"into another folder": {
			func(w *watch) {
				w.mkdir(w.beside("elsewhere"))
				w.write(w.beside("elsewhere/gray.yaml"), generation(0))
				w.link(w.beside("elsewhere/gray.yaml"), w.watcher.Path)
			},
			func(w *watch, n int) { w.write(w.beside("elsewhere/gray.yaml"), generation(n)) },
		},
		"into the folder above": {
			func(w *watch) {
				w.write(w.beside("real.yaml"), generation(0))
				w.link("../real.yaml", w.watcher.Path)
			},
			func(w *watch, n int) { w.write(w.beside("real.yaml"), generation(n)) },
		},
		"into the folder above, which has another name": {
			func(w *watch) {
				w.remove(w.dir)
				w.mkdir(w.beside("deep/folder"))
				w.link("deep/folder", w.dir)
				w.write(w.beside("deep/real.yaml"), generation(0))
				w.link("../real.yaml", w.watcher.Path)
			},
			func(w *watch, n int) { w.write(w.beside("deep/real.yaml"), generation(n)) },
		},
		"to a link that is turned": {
			func(w *watch) {
				w.mkdir(w.beside("links"))
				w.mkdir(w.beside("files"))
				for n := range 4 {
					w.write(w.beside(fmt.Sprintf("files/%d.yaml", n)), generation(n))
				}
				w.link("../files/0.yaml", w.beside("links/now.yaml"))
				w.link("../links/now.yaml", w.watcher.Path)
			},
			func(w *watch, n int) {
				w.link(fmt.Sprintf("../files/%d.yaml", n), w.beside("links/next.yaml"))
				w.rename(w.beside("links/next.yaml"), w.beside("links/now.yaml"))
			},
		},
		"a list in a folder below": {
			func(w *watch) {
				w.mkdir(filepath.Join(w.dir, "lists"))
				w.write(filepath.Join(w.dir, "lists/a.txt"), "0\n")
				w.write(w.watcher.Path, listing("lists/a.txt"))
			},
			func(w *watch, n int) { w.write(filepath.Join(w.dir, "lists/a.txt"), fmt.Sprintln(n)) },
		},
		"a list that is a link": {
			func(w *watch) {
				w.mkdir(w.beside("lists"))
				w.write(w.beside("lists/a.txt"), "0\n")
				w.link("../lists/a.txt", filepath.Join(w.dir, "a.txt"))
				w.write(w.watcher.Path, listing("a.txt"))
			},
			func(w *watch, n int) { w.write(w.beside("lists/a.txt"), fmt.Sprintln(n)) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWatch(t)
			test.prepare(w)
			w.run()
			last := w.wantNew().Digest
			for n := range 3 { // the first may be seen by the look that follows the start
				test.change(w, n+1)
				next := w.wantNew().Digest
				if next == last {
					t.Errorf("change %d gives digest %s again", n+1, next)
				}
				last = next
			}
		})
	}
}
