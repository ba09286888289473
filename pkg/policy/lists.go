package policy

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// lists reads the files that `valuesFrom` names, each once, and sums up all
// that a policy is made of.
type lists struct {
	dir  string
	all  []list         // in the order in which they were first named
	at   map[string]int // by name
	sum  hash.Hash      // of the policy file and the lists, one after the other
	size int64
}

// list is a file of values.
type list struct {
	name string // in the folder of the policy file
	data []byte
	err  error // why it cannot be read
}

func newLists(dir string, policy []byte) *lists {
	l := &lists{dir: dir, at: map[string]int{}, sum: sha256.New()}
	l.sum.Write(policy)
	return l
}

// read returns the content of the file with that name beside the policy file.
func (l *lists) read(name string) ([]byte, error) {
	name = filepath.Clean(name)
	if at, ok := l.at[name]; ok {
		return l.all[at].data, l.all[at].err
	}
	data, err := l.load(name)
	l.at[name] = len(l.all)
	l.all = append(l.all, list{name, data, err})
	sumList(l.sum, data, err)
	return data, err
}

func (l *lists) load(name string) ([]byte, error) {
	path, err := l.path(name)
	if err != nil {
		return nil, err
	}
	data, err := readFile(path, maxList)
	if err != nil {
		return nil, err
	}
	l.size += int64(len(data))
	if l.size > maxLists {
		return nil, fmt.Errorf("more than %d MiB in all lists together", maxLists>>20)
	}
	return data, nil
}

// skim adds a list to the sum without keeping it.
func (l *lists) skim(name string) {
	path, err := l.path(name)
	if err == nil {
		err = copyFile(l.sum, path, maxList)
	}
	if err != nil {
		sumList(l.sum, nil, err)
	}
}

func (l *lists) path(name string) (string, error) {
	if !filepath.IsLocal(name) {
		return "", errors.New("want the name of a file beside the policy file")
	}
	return filepath.Join(l.dir, name), nil
}

// digest returns the first 12 hex digits of the sum: those of
// `cat policy.yaml testers.txt | sha256sum`.
func (l *lists) digest() string {
	return hex.EncodeToString(l.sum.Sum(nil))[:12]
}

// sumList adds a list, or why it cannot be read, to a sum.
func sumList(sum hash.Hash, data []byte, err error) {
	if err != nil {
		fmt.Fprintf(sum, "\x00%v", err)
		return
	}
	sum.Write(data)
}

// readFile reads a file of at most limit bytes. The error names no path: the
// caller says which file it is about.
func readFile(path string, limit int64) ([]byte, error) {
	var data bytes.Buffer
	if err := copyFile(&data, path, limit); err != nil {
		return nil, err
	}
	return data.Bytes(), nil
}

func copyFile(to io.Writer, path string, limit int64) error {
	f, err := openRegular(path)
	if err != nil {
		return cause(err)
	}
	defer f.Close()
	n, err := io.Copy(to, io.LimitReader(f, limit+1))
	if err != nil {
		return cause(err)
	}
	if n > limit {
		return fmt.Errorf("larger than %d MiB", limit>>20)
	}
	return nil
}

// openRegular opens a file for reading. What is no regular file is refused before
// it is opened, which may do something to a device, and after, when it may have
// been put in place: a named pipe would be waited on for ever.
func openRegular(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if err := refuseOther(info.Mode()); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if info, err = f.Stat(); err == nil {
		err = refuseOther(info.Mode())
	}
	if err != nil {
		_ = f.Close() // nothing was read
		return nil, err
	}
	return f, nil
}

// refuseOther says what is there in place of a regular file.
func refuseOther(mode fs.FileMode) error {
	switch {
	case mode.IsRegular():
		return nil
	case mode.IsDir():
		return errors.New("a directory, want a file")
	case mode&fs.ModeNamedPipe != 0:
		return errors.New("a named pipe, want a file")
	case mode&fs.ModeSocket != 0:
		return errors.New("a socket, want a file")
	}
	return errors.New("a device, want a file")
}

// cause takes the path off an error of the file system.
func cause(err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err
	}
	return err
}

// badLine returns the number of the first line of a file of values that is too
// long or not text, 0 for none.
func badLine(data []byte) int {
	number, bad := 0, 0
	for line := range bytes.Lines(data) {
		number++
		line = bytes.TrimSpace(line)
		if bad == 0 && (len(line) > maxValue || bytes.ContainsFunc(line, func(r rune) bool { return r < ' ' && r != '\t' })) {
			bad = number
		}
	}
	return bad
}

// lines calls use with every value of a file of values.
func lines(data []byte, use func(value []byte)) {
	for len(data) > 0 {
		var line []byte
		line, data, _ = bytes.Cut(data, newline)
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			use(line)
		}
	}
}

var newline = []byte("\n")
