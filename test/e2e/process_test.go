package e2e

import (
	"bytes"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// process is a child whose output is kept, and shown when the test fails.
type process struct {
	name string
	cmd  *exec.Cmd
	log  *output
	done chan struct{} // closed when the process has ended
}

// start runs a program until the test ends; cleanup kills what still runs.
func start(t testing.TB, name string, env []string, path string, args ...string) *process {
	t.Helper()
	return startIn(t, "", name, env, path, args...)
}

// startIn is start in a folder of choice.
func startIn(t testing.TB, dir, name string, env []string, path string, args ...string) *process {
	t.Helper()
	p := &process{name: name, cmd: exec.Command(path, args...), log: &output{}, done: make(chan struct{})}
	p.cmd.Dir = dir
	p.cmd.Env = append(p.cmd.Environ(), env...)
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	p.cmd.SysProcAttr = withParent()
	if err := p.cmd.Start(); err != nil {
		t.Fatalf("start %s: %v", name, err)
	}
	go func() {
		defer close(p.done)
		_ = p.cmd.Wait() // exit reads the code from ProcessState
	}()
	t.Cleanup(func() { p.finish(t) })
	return p
}

func (p *process) finish(t testing.TB) {
	p.kill()
	text := p.log.String()
	if strings.Contains(text, "DATA RACE") {
		t.Errorf("%s has a data race", p.name)
	}
	if t.Failed() {
		t.Logf("---- %s %s\n%s", p.name, strings.Join(p.cmd.Args[1:], " "), tail(text, 60))
	}
}

// kill ends the process at once and waits for it; calling it again does nothing.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // an error means that it has ended
	<-p.done
}

func (p *process) terminate(t testing.TB) {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatalf("SIGTERM to %s: %v", p.name, err)
	}
}

// exit waits for the end of the process and gives its exit code.
func (p *process) exit(t testing.TB) int {
	t.Helper()
	return p.exitWithin(t, patience)
}

func (p *process) exitWithin(t testing.TB, patience time.Duration) int {
	t.Helper()
	select {
	case <-p.done:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(patience):
		t.Fatalf("%s still runs after %v", p.name, patience)
		return 0
	}
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// output collects what a process prints while tests read it.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// tail is the last n lines of text.
func tail(text string, n int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
