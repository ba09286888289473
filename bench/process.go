package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	loadCore  = "0"
	proxyCore = "1"
)

// process is a child on one core; its tree is all that it started.
type process struct {
	cmd *exec.Cmd
	log string
}

// start runs a command on a core and waits until it accepts at the address.
func start(core, address, log string, command []string) (*process, error) {
	out, err := os.Create(log)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	cmd := exec.Command("taskset", append([]string{"-c", core}, command...)...)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, log: log}
	for range 200 {
		if c, err := net.Dial("tcp", address); err == nil {
			_ = c.Close()
			return p, nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	p.stop()
	text, _ := os.ReadFile(log)
	return nil, fmt.Errorf("%s does not accept at %s:\n%s", command[0], address, text)
}

// stop ends the process and what it started.
func (p *process) stop() {
	for _, pid := range p.tree() {
		_ = syscall.Kill(pid, syscall.SIGKILL) // an error means that it has ended
	}
	_ = p.cmd.Wait()
}

func (p *process) tree() []int {
	tree := []int{p.cmd.Process.Pid}
	for i := 0; i < len(tree); i++ {
		lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", tree[i]))
		for _, list := range lists {
			for _, field := range strings.Fields(readText(list)) {
				if pid, err := strconv.Atoi(field); err == nil {
					tree = append(tree, pid)
				}
			}
		}
	}
	return tree
}

// cpu is the time that the tree has had on a core, as the scheduler counts it.
func (p *process) cpu() time.Duration {
	var sum time.Duration
	for _, pid := range p.tree() {
		stats, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
		for _, stat := range stats {
			var ns int64
			if _, err := fmt.Sscan(readText(stat), &ns); err == nil {
				sum += time.Duration(ns)
			}
		}
	}
	return sum
}

// memory is what the tree has in memory, in bytes.
func (p *process) memory() int64 {
	var sum int64
	for _, pid := range p.tree() {
		for line := range strings.Lines(readText(fmt.Sprintf("/proc/%d/status", pid))) {
			var kib int64
			if rest, found := strings.CutPrefix(line, "VmRSS:"); found {
				if _, err := fmt.Sscan(rest, &kib); err == nil {
					sum += kib << 10
				}
			}
		}
	}
	return sum
}

// readText gives "" for what is not there any more.
func readText(path string) string {
	text, _ := os.ReadFile(path)
	return string(text)
}

// busy is how much of the cores anybody has used since the machine started.
func busy() time.Duration {
	const tick = 10 * time.Millisecond // USER_HZ is 100 on Linux
	var sum time.Duration
	fields := strings.Fields(strings.SplitN(readText("/proc/stat"), "\n", 2)[0])
	for i, field := range fields[1:min(9, len(fields))] {
		if n, err := strconv.ParseInt(field, 10, 64); err == nil && i != 3 && i != 4 { // idle and waiting for a disk
			sum += time.Duration(n) * tick
		}
	}
	return sum
}
