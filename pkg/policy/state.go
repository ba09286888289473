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
//	good-1a2b3c/lists/testers.txt
//
// What is written is what was compiled, byte for byte. The link is turned once
// all is written, so that a crash leaves the old policy or the new one, whole.
// Nobody else may read it, since lists hold ids of users.
type state struct{ dir string }

const (
	stateLink   = "current"
	stateFile   = "policy.yaml"
	stateLists  = "lists"
	statePrefix = "good-"
)

// load returns the policy that is kept.
func (s *state) load() (*Policy, error) {
	folder := filepath.Join(s.dir, stateLink)
	path := filepath.Join(folder, stateFile)
	data, err := readFile(path, maxFile)
	if err != nil {
		return nil, Faults{{File: path, What: err.Error()}}
	}
	p, _, err := parse(path, filepath.Join(folder, stateLists), data)
	return p, err
}

// save keeps what a policy was made of. Without a folder it does nothing.
func (s *state) save(c *content) error {
	if s.dir == "" {
		return nil
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return fmt.Errorf("make the state folder: %w", err)
	}
	fresh, err := os.MkdirTemp(s.dir, statePrefix)
	if err != nil {
		return fmt.Errorf("make a folder: %w", err)
	}
	if err := fill(fresh, c); err != nil {
		return errors.Join(err, os.RemoveAll(fresh))
	}
	if err := s.turn(filepath.Base(fresh)); err != nil {
		return errors.Join(err, os.RemoveAll(fresh))
	}
	return s.clean(filepath.Base(fresh))
}

// fill writes a policy and its lists into a folder.
func fill(folder string, c *content) error {
	if err := writeFile(filepath.Join(folder, stateFile), c.data); err != nil {
		return err
	}
	for _, l := range c.lists {
		path := filepath.Join(folder, stateLists, l.name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return fmt.Errorf("make a folder for a list: %w", err)
		}
		if err := writeFile(path, l.data); err != nil {
			return err
		}
	}
	return nil
}

// writeFile writes a file so that a crash does not empty it.
func writeFile(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
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
