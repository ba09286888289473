package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
)

// child is a process of the demo. Its output goes to a file.
type child struct {
	name string
	log  string
	cmd  *exec.Cmd
	done chan struct{} // closed when the process has ended

	mu       sync.Mutex
	stopping bool
}

// childError tells that a child ended which nobody stopped.
type childError struct {
	child *child
	err   error
}

func (e *childError) Error() string {
	text, err := os.ReadFile(e.child.log)
	if err != nil {
		text = []byte(err.Error())
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	last := strings.Join(lines[max(0, len(lines)-5):], "\n  ")
	return fmt.Sprintf("%s ended: %v; the last lines of %s:\n  %s", e.child.name, e.err, e.child.log, last)
}

// startChild starts a process with nothing of ours in its environment; ended is called if it ends by itself.
func startChild(name, log string, ended func(error), path string, args ...string) (*child, error) {
	file, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("log of %s: %w", name, err)
	}
	defer file.Close() // the child has its own
	c := &child{name: name, log: log, cmd: exec.Command(path, args...), done: make(chan struct{})}
	c.cmd.Stdout, c.cmd.Stderr = file, file
	c.cmd.Env = withoutOurs(os.Environ())
	c.cmd.SysProcAttr = apart()
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	go c.watch(ended)
	return c, nil
}

func (c *child) watch(ended func(error)) {
	defer close(c.done)
	err := c.cmd.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.stopping {
		ended(&childError{c, err})
	}
}

// terminate asks the process to end and waits until it has.
func (c *child) terminate() { c.signal(syscall.SIGTERM) }

// kill ends the process at once. A child that was never started counts as ended.
func (c *child) kill() { c.signal(syscall.SIGKILL) }

func (c *child) signal(s syscall.Signal) {
	if c == nil {
		return
	}
	c.mu.Lock()
	c.stopping = true
	c.mu.Unlock()
	_ = c.cmd.Process.Signal(s) // an error means that it has ended
	<-c.done
}

// withoutOurs drops settings of sidecars from an environment: they would hold for all seven of the demo.
func withoutOurs(environ []string) []string {
	var kept []string
	for _, v := range environ {
		if !strings.HasPrefix(v, "GRAYLANE_") {
			kept = append(kept, v)
		}
	}
	return kept
}
