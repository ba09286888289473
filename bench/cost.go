package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// cost is what a task did to the machine.
type cost struct {
	cpu     time.Duration // of the proxy
	memory  int64         // the most that the proxy had
	foreign float64       // of a core, that nobody of ours used
}

// charge runs a part of this binary against a proxy, which may be none. The task and what the part found are passed as
// JSON.
func (b *bench) charge(p *process, part string, task, found any) (cost, error) {
	cmd, err := b.part(part, task)
	if err != nil {
		return cost{}, err
	}
	var out, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaints

	before, ours, all, begin := p.cpuOrNone(), b.origins.cpu(), busy(), time.Now()
	if err := cmd.Start(); err != nil {
		return cost{}, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	c := cost{}
	for over := false; !over; {
		select {
		case err = <-ended:
			over = true
		case <-time.After(100 * time.Millisecond):
			if p != nil {
				c.memory = max(c.memory, p.memory())
			}
		}
	}
	c.cpu = p.cpuOrNone() - before
	took := time.Since(begin)
	if err != nil {
		return c, fmt.Errorf("%s: %w: %s", part, err, complaints.String())
	}
	if err := json.Unmarshal(out.Bytes(), found); err != nil {
		return c, err
	}
	load := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	others := busy() - all - c.cpu - load - (b.origins.cpu() - ours)
	c.foreign = max(0, others.Seconds()/took.Seconds())
	return c, nil
}

// hold runs a part that says what it found and goes on until its stdin ends. Before that it calls look.
func (b *bench) hold(part string, task, found any, look func() error) error {
	cmd, err := b.part(part, task)
	if err != nil {
		return err
	}
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, found)
	}
	if err == nil {
		err = look()
	}
	return errors.Join(err, in.Close(), cmd.Wait())
}

// part is a process that plays a part of this binary beside the origins.
func (b *bench) part(name string, task any) (*exec.Cmd, error) {
	text, err := json.Marshal(task)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command("taskset", "-c", loadCore, b.self, name, "-json", string(text))
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd, nil
}

// cpuOrNone is cpu where there is a process.
func (p *process) cpuOrNone() time.Duration {
	if p == nil {
		return 0
	}
	return p.cpu()
}

func mebibytes(n int64) float64 { return float64(n) / (1 << 20) }
