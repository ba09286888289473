package harness

import (
	"bytes"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Process is a child whose output is kept, and shown when the test fails.
type Process struct {
	Name string
	Log  *Output
	cmd  *exec.Cmd
	done chan struct{} // closed when the process has ended
}

// Start runs a program until the test ends; cleanup kills what still runs.
func Start(t testing.TB, name string, env []string, path string, args ...string) *Process {
	t.Helper()
	return StartIn(t, "", name, env, path, args...)
}

// StartIn is Start in a folder of choice.
func StartIn(t testing.TB, dir, name string, env []string, path string, args ...string) *Process {
	t.Helper()
	cmd := exec.Command(path, args...)
	cmd.Dir, cmd.SysProcAttr = dir, withParent()
	// What tests are told is no setting of a sidecar.
	ours := func(variable string) bool { return strings.HasPrefix(variable, "GRAYLANE_") }
	cmd.Env = append(slices.DeleteFunc(cmd.Environ(), ours), env...)
	return Launch(t, name, cmd, cmd.Start)
}

// Launch is Start for a command that was prepared otherwise, by a function that starts it.
func Launch(t testing.TB, name string, cmd *exec.Cmd, start func() error) *Process {
	t.Helper()
	p := &Process{Name: name, Log: &Output{}, cmd: cmd, done: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = p.Log, p.Log
	if err := start(); err != nil {
		t.Fatalf("start %s: %v", name, err)
	}
	go func() {
		defer close(p.done)
		_ = p.cmd.Wait() // Exit reads the code from ProcessState
	}()
	t.Cleanup(func() { p.finish(t) })
	return p
}

func (p *Process) finish(t testing.TB) {
	p.Kill()
	text := p.Log.String()
	if strings.Contains(text, "DATA RACE") {
		t.Errorf("%s has a data race", p.Name)
	}
	if t.Failed() {
		t.Logf("---- %s %s\n%s", p.Name, strings.Join(p.cmd.Args[1:], " "), tail(text, 60))
	}
}

// Kill ends the process at once and waits for it; calling it again does nothing.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // an error means that it has ended
	<-p.done
}

// Signal sends a signal to the process, which must not have ended.
func (p *Process) Signal(t testing.TB, signal syscall.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(signal); err != nil {
		t.Fatalf("%v to %s: %v", signal, p.Name, err)
	}
}

// PID is the number of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Exit waits for the end of the process and gives its exit code.
func (p *Process) Exit(t testing.TB) int {
	t.Helper()
	return p.ExitWithin(t, Patience)
}

// ExitWithin is Exit with a patience of choice.
func (p *Process) ExitWithin(t testing.TB, patience time.Duration) int {
	t.Helper()
	select {
	case <-p.done:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(patience):
		t.Fatalf("%s still runs after %v", p.Name, patience)
		return 0
	}
}

// Ended says that the process is no more.
func (p *Process) Ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// Output collects what a process prints while tests read it.
type Output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// tail is the last n lines of text.
func tail(text string, n int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
