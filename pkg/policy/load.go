package policy

import (
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"reflect"

	"go.yaml.in/yaml/v3"
)

// Load reads and compiles the policy file at path, and the lists that it
// names beside it. The error is Faults.
func Load(path string) (*Policy, error) {
	p, _, err := load(path)
	return p, err
}

// load is Load that also tells what was read.
func load(path string) (*Policy, content, error) {
	// A ConfigMap is replaced as a whole by turning a symlink. What is read
	// while that happens may be of two generations: read again.
	const tries = 3
	for range tries - 1 {
		before, _ := filepath.EvalSymlinks(path)
		p, c, err := loadOnce(path)
		if after, _ := filepath.EvalSymlinks(path); after == before {
			return p, c, err
		}
	}
	return loadOnce(path)
}

func loadOnce(path string) (*Policy, content, error) {
	file, data, err := readPolicy(path)
	if err != nil {
		return nil, content{err: err.Error()}, Faults{{File: path, What: err.Error()}}
	}
	p, l, err := parse(path, filepath.Dir(file), data)
	return p, content{sum: string(l.sum.Sum(nil)), data: data, lists: l.all}, err
}

// readPolicy returns the policy file at path, and where it really is: its lists
// are beside it there.
func readPolicy(path string) (file string, data []byte, err error) {
	if file, err = filepath.EvalSymlinks(path); err != nil {
		return "", nil, cause(err)
	}
	data, err = readFile(file, maxFile)
	return file, data, err
}

// Parse compiles data as the policy file called name. The error is Faults.
// Lists that it names are read from the folder of name.
func Parse(name string, data []byte) (*Policy, error) {
	p, _, err := parse(name, filepath.Dir(name), data)
	return p, err
}

func parse(name, dir string, data []byte) (*Policy, *lists, error) {
	l := newLists(dir, data)
	rep := &report{file: name}
	spec, root := parseSpec(data, rep)
	if spec == nil {
		return nil, l, rep.sorted()
	}
	p := compile(spec, root, rep, l)
	if faults := rep.sorted(); len(faults) > 0 {
		return nil, l, faults
	}
	p.Digest = l.digest()
	return p, l, nil
}

// parseSpec reads a policy file; nil: it is none at all, or has more faults than
// anyone wants to hear of.
func parseSpec(data []byte, rep *report) (*Spec, place) {
	if len(data) > maxFile {
		rep.add(place{}, "%d bytes, want at most %d", len(data), maxFile)
		return nil, place{}
	}
	if isUTF16(data) {
		rep.add(place{}, "UTF-16 text, want UTF-8")
		return nil, place{}
	}
	if values := countValues(data); values > maxValues {
		rep.add(place{}, "about %d values, want at most %d: lists of ids have files of their own, see valuesFrom", values, maxValues)
		return nil, place{}
	}
	root, fault := parseTree(data)
	if fault != nil {
		fault.File = rep.file
		rep.faults = append(rep.faults, *fault)
		return nil, place{}
	}
	p := place{node: root}
	spec := new(Spec)
	d := &decoder{report: rep}
	if p, ok := d.follow(p); ok {
		d.decode(p, reflect.ValueOf(spec).Elem(), 0)
	}
	if rep.full() {
		return nil, place{}
	}
	return spec, p
}

// parseTree reads the one YAML document in data.
func parseTree(data []byte) (*yaml.Node, *Fault) {
	if fault := notText(data); fault != nil {
		return nil, fault
	}
	in := yaml.NewDecoder(bytes.NewReader(data))
	var doc yaml.Node
	err := in.Decode(&doc)
	switch {
	case errors.Is(err, io.EOF):
		return nil, &Fault{What: "empty, want a policy"}
	case err != nil:
		return nil, syntaxFault(data, err)
	}
	var more yaml.Node
	if err := in.Decode(&more); err == nil {
		return nil, &Fault{Line: more.Line, Column: more.Column, What: "a second document, want one"}
	} else if !errors.Is(err, io.EOF) {
		return nil, syntaxFault(data, err)
	}
	return doc.Content[0], nil
}

// content is what a policy was made of: to tell whether it has changed, and to
// keep it.
type content struct {
	sum   string // of the policy file and its lists
	err   string // why the policy file could not be read; "": it was
	data  []byte // the policy file
	lists []list // beside it
}

// same tells whether c and other are made of the same.
func (c *content) same(other *content) bool { return c.sum == other.sum && c.err == other.err }

// changed tells whether path may hold something else than c now.
func (c *content) changed(path string) bool {
	file, data, err := readPolicy(path)
	if err != nil {
		return true
	}
	l := newLists(filepath.Dir(file), data)
	for i := range c.lists {
		l.skim(c.lists[i].name)
	}
	return string(l.sum.Sum(nil)) != c.sum
}

// forget lets go of all but what changed and same ask for.
func (c *content) forget() {
	c.data = nil
	for i := range c.lists {
		c.lists[i].data = nil
	}
}
