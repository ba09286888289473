package policy

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// state is a folder that keeps the last good policy and its lists:
//
//	current -> good-1a2b3c
//	good-1a2b3c/policy.yaml
//	good-1a2b3c/testers.txt
//
// The link is turned once all is written, so that a crash leaves the old
// policy or the new one, whole.
type state struct{ dir string }

const (
	stateLink   = "current"
	stateFile   = "policy.yaml"
	statePrefix = "good-"
)

// load returns the policy that is kept.
func (s *state) load() (*Policy, error) {
	return Load(filepath.Join(s.dir, stateLink, stateFile))
}

// save keeps the policy at path, which was read as c. Without a folder it does
// nothing.
func (s *state) save(path string, c *content) error {
	if s.dir == "" {
		return nil
	}
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return fmt.Errorf("make the state folder: %w", err)
	}
	fresh, err := os.MkdirTemp(s.dir, statePrefix)
	if err != nil {
		return fmt.Errorf("make a folder: %w", err)
	}
	if err := s.fill(fresh, path, c); err != nil {
		return errors.Join(err, os.RemoveAll(fresh))
	}
	if err := s.turn(filepath.Base(fresh)); err != nil {
		return errors.Join(err, os.RemoveAll(fresh))
	}
	return s.clean(filepath.Base(fresh))
}

// fill writes the policy and its lists into a folder.
func (s *state) fill(folder, path string, c *content) error {
	if err := writeFile(filepath.Join(folder, stateFile), c.data); err != nil {
		return err
	}
	file, err := filepath.EvalSymlinks(path)
	if err != nil {
		return fmt.Errorf("find the lists of the policy: %w", err)
	}
	for _, name := range c.lists {
		data, err := readFile(filepath.Join(filepath.Dir(file), name), maxList)
		if err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
		if err := os.MkdirAll(filepath.Dir(filepath.Join(folder, name)), 0o755); err != nil {
			return fmt.Errorf("make a folder for a list: %w", err)
		}
		if err := writeFile(filepath.Join(folder, name), data); err != nil {
			return err
		}
	}
	return nil
}

// writeFile writes a file so that a crash does not empty it.
func writeFile(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return fmt.Errorf("keep the policy: %w", err)
	}
	_, err = f.Write(data)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("keep the policy: %w", err)
	}
	return nil
}

// turn makes the link point to folder.
func (s *state) turn(folder string) error {
	next := filepath.Join(s.dir, stateLink+".next")
	if err := os.Remove(next); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("clear the way for the link: %w", err)
	}
	if err := os.Symlink(folder, next); err != nil {
		return fmt.Errorf("link the policy: %w", err)
	}
	if err := os.Rename(next, filepath.Join(s.dir, stateLink)); err != nil {
		return fmt.Errorf("turn the link to the policy: %w", err)
	}
	return nil
}

// clean removes what earlier policies left.
func (s *state) clean(keep string) error {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return fmt.Errorf("list the state folder: %w", err)
	}
	var failed error
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), statePrefix) && entry.Name() != keep {
			failed = errors.Join(failed, os.RemoveAll(filepath.Join(s.dir, entry.Name())))
		}
	}
	return failed
}
