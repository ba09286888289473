package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	connections = 64
	middleSize  = 1 << 10 // the size of the measurements that are made at one size only
	rest        = time.Second
)

// samples are what one round found out about one contestant, by measure.
type samples map[measure]float64

// bench is a run under way.
type bench struct {
	options
	dir    string
	self   string
	origin *process
}

// round measures one contestant once.
func (b *bench) round(c contestant, first bool) (samples, error) {
	s := samples{}
	var p *process
	if c.command != nil {
		var err error
		if p, err = start(proxyCore, c.address, filepath.Join(b.dir, "proxy.log"), c.command); err != nil {
			return nil, err
		}
		defer p.stop()
		time.Sleep(rest)
		s[memoryIdle] = mebibytes(p.memory())
	}
	warm := b.load(c, middleSize)
	warm.Duration = time.Second
	if _, err := b.play(p, warm); err != nil {
		return nil, err
	}
	for size, m := range bySize() {
		f, err := b.play(p, b.load(c, size))
		if err != nil {
			return nil, err
		}
		s[m.requests] = float64(f.Requests) / f.Seconds
		if size == middleSize {
			s[foreign] = f.foreign
		}
		if p == nil {
			continue
		}
		s[m.cpu] = f.cpuEach
		if size == middleSize {
			s[memory64] = mebibytes(f.memory)
		}
	}
	fixed := b.load(c, middleSize)
	fixed.Rate = b.rate
	f, err := b.play(p, fixed)
	if err != nil {
		return nil, err
	}
	s[p50], s[p99] = f.P50, f.P99
	if p == nil {
		return s, nil
	}
	s[cpuFixed] = f.cpuEach
	if b.crowd && first {
		err = b.crowds(c, p, s)
	}
	return s, err
}

func (b *bench) load(c contestant, size int) load {
	return load{Address: c.address, Size: size, Connections: connections, Duration: b.phase, Mixed: c.command != nil}
}

// played is what a load found, and what it cost.
type played struct {
	found
	cpuEach float64 // of the proxy, microseconds a request
	memory  int64   // the most that the proxy had
	foreign float64 // of a core, that nobody of ours used
}

// play runs a load against a proxy, which may be none.
func (b *bench) play(p *process, l load) (played, error) {
	text, err := json.Marshal(l)
	if err != nil {
		return played{}, err
	}
	var out, complaints bytes.Buffer
	cmd := exec.Command("taskset", "-c", loadCore, b.self, "load", "-json", string(text))
	cmd.Stdout, cmd.Stderr = &out, &complaints
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}

	before, ours, all, begin := p.cpuOrNone(), b.origin.cpu(), busy(), time.Now()
	if err := cmd.Start(); err != nil {
		return played{}, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	r := played{}
	for over := false; !over; {
		select {
		case err = <-ended:
			over = true
		case <-time.After(100 * time.Millisecond):
			if p != nil {
				r.memory = max(r.memory, p.memory())
			}
		}
	}
	used, took := p.cpuOrNone()-before, time.Since(begin)
	if err != nil {
		return r, fmt.Errorf("load on %s: %w: %s", l.Address, err, complaints.String())
	}
	if err := json.Unmarshal(out.Bytes(), &r.found); err != nil {
		return r, err
	}
	if r.Wrong > 0 || r.All == 0 {
		return r, fmt.Errorf("load on %s: %d of %d replies are wrong", l.Address, r.Wrong, r.All)
	}
	load := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	others := busy() - all - used - load - (b.origin.cpu() - ours)
	r.foreign = max(0, others.Seconds()/took.Seconds())
	r.cpuEach = float64(used.Microseconds()) / float64(r.All)
	return r, nil
}

// cpuOrNone is cpu where there is a process.
func (p *process) cpuOrNone() time.Duration {
	if p == nil {
		return 0
	}
	return p.cpu()
}

// crowds measures memory with many connections that have had one request each.
func (b *bench) crowds(c contestant, p *process, s samples) error {
	for n, m := range map[int]measure{1000: memory1000, crowdLarge: memory10000} {
		l := b.load(c, middleSize)
		l.Connections, l.Crowd = n, true
		err := b.withCrowd(l, func() { s[m] = mebibytes(p.memory()) })
		if err != nil {
			return err
		}
	}
	return nil
}

// withCrowd calls look while the connections are open.
func (b *bench) withCrowd(l load, look func()) error {
	text, err := json.Marshal(l)
	if err != nil {
		return err
	}
	cmd := exec.Command("taskset", "-c", loadCore, b.self, "load", "-json", string(text))
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
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
	var f found
	line, err := bufio.NewReader(out).ReadString('\n')
	if err == nil {
		err = json.Unmarshal([]byte(strings.TrimSpace(line)), &f)
	}
	if err == nil && (f.Wrong > 0 || f.All != l.Connections) {
		err = fmt.Errorf("%d of %d replies came, %d of them wrong", f.All, l.Connections, f.Wrong)
	}
	if err == nil {
		time.Sleep(rest)
		look()
	}
	return errors.Join(err, in.Close(), cmd.Wait())
}

func mebibytes(n int64) float64 { return float64(n) / (1 << 20) }
