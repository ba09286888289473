package main

import (
	"fmt"
	"path/filepath"
	"time"
)

// tcpContest is about connections that the kernel redirects, as it does in a pod: `sidecar redirect` brings what is for
// the origin's address to the contestant, who connects to that address as the user whose calls are left alone. The way
// without a proxy is redirected too, to the origin itself, so that everybody's rules cost the same.
type tcpContest struct{ *bench }

const (
	tcpAddress = "192.0.2.1" // on loopback, but none of the addresses that are never redirected
	tcpPort    = "19011"
	tcpOrigin  = tcpAddress + ":" + tcpPort
	tcpTold    = "127.0.0.1:" + tcpPort // where callers get by the rules for direct

	quietCrowd = 9_000 // connections, each with two descriptors in a proxy; machines often allow 20,000
)

const (
	visitRate   measure = "connections/s"
	visitCPU    measure = "CPU µs a connection"
	visitFixed  measure = "CPU µs a connection, fixed rate"
	memoryCrowd measure = "memory MiB, 9,000 idle connections"
	memoryEach  measure = "memory KiB an idle connection"
)

// flow is a way for bytes to go: to or from the origin, on so many connections.
type flow struct {
	up          bool
	connections int
	speed, cpu  measure
}

func flows() []flow {
	var all []flow
	for _, f := range []flow{{up: false, connections: 1}, {up: true, connections: 1}, {up: false, connections: 16}, {up: true, connections: 16}} {
		name := "from the origin"
		if f.up {
			name = "to the origin"
		}
		of := fmt.Sprintf(", %s, %d connections", name, f.connections)
		if f.connections == 1 {
			of = fmt.Sprintf(", %s, 1 connection", name)
		}
		f.speed, f.cpu = measure("GB/s"+of), measure("CPU ms a GB"+of)
		all = append(all, f)
	}
	return all
}

// newTCPContest prepares the network and the folder.
func newTCPContest(b *bench) (*tcpContest, error) {
	t := &tcpContest{b}
	if err := prepareNetwork(); err != nil {
		return nil, fmt.Errorf("preparing the network: %w", err)
	}
	return t, t.moveIn()
}

func (t *tcpContest) origin() (part, address string) { return "tcporigin", tcpTold }

func (t *tcpContest) about() string {
	return fmt.Sprintf("%d interleaved rounds of %v; %d connections at a time; fixed rate %d connections/s.", t.rounds, t.phase, connections, t.rate)
}

func (t *tcpContest) lines() []measure {
	var speed, cpu []measure
	for _, f := range flows() {
		speed, cpu = append(speed, f.speed), append(cpu, f.cpu)
	}
	return append(append(speed, cpu...), visitRate, visitCPU, visitFixed, p50, p99, memoryIdle, memoryCrowd, memoryEach)
}

func (t *tcpContest) round(c contestant, first bool) (samples, error) {
	s := samples{}
	p, err := t.start(c)
	if err != nil {
		return nil, err
	}
	if p != nil {
		defer p.stop()
		time.Sleep(rest)
		s[memoryIdle] = mebibytes(p.memory())
	}
	for _, f := range flows() {
		var m moved
		spent, err := t.charge(p, "streams", streams{Up: f.up, Connections: f.connections, Duration: t.phase}, &m)
		if err != nil {
			return nil, err
		}
		s[f.speed] = float64(m.Bytes) / 1e9 / m.Seconds
		s[foreign] += spent.foreign / float64(len(flows()))
		if p != nil {
			s[f.cpu] = float64(spent.cpu.Microseconds()) / 1e3 / (float64(m.All) / 1e9)
		}
	}
	if err := t.visits(p, s); err != nil {
		return nil, err
	}
	if t.crowd && first && p != nil && !c.lonely {
		err = t.crowds(p, s)
	}
	return s, err
}

// visits measures connections that do not last: as many as there can be, and at a fixed rate.
func (t *tcpContest) visits(p *process, s samples) error {
	for _, rate := range []int{0, t.rate} {
		r := played{}
		var err error
		r.cost, err = t.charge(p, "visits", visits{AtOnce: connections, Rate: rate, Duration: t.phase}, &r.found)
		if err != nil {
			return err
		}
		if rate == 0 {
			s[visitRate] = float64(r.Requests) / r.Seconds
		} else {
			s[p50], s[p99] = r.P50, r.P99
		}
		switch {
		case p == nil:
		case rate == 0:
			s[visitCPU] = r.cpuEach()
		default:
			s[visitFixed] = r.cpuEach()
		}
	}
	return nil
}

// crowds measures memory with many connections that have moved one byte each way.
func (t *tcpContest) crowds(p *process, s samples) error {
	before := p.memory()
	var f found
	return t.hold("visits", visits{AtOnce: connections, Stay: quietCrowd}, &f, func() error {
		if f.All != quietCrowd {
			return fmt.Errorf("%d of %d connections were answered", f.All, quietCrowd)
		}
		time.Sleep(rest)
		s[memoryCrowd] = mebibytes(p.memory())
		s[memoryEach] = float64(p.memory()-before) / quietCrowd / 1024
		return nil
	})
}

// start brings callers to the contestant, and runs it if it is a proxy.
func (t *tcpContest) start(c contestant) (*process, error) {
	if err := t.redirect(c); err != nil || c.command == nil {
		return nil, err
	}
	return start(proxyCore, c.address, filepath.Join(t.dir, "proxy.log"), asUser(c.command))
}
