package main

import (
	"fmt"
	"path/filepath"
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
	contest contest
	dir     string
	self    string
	origins *process
}

// httpContest is about requests.
type httpContest struct{ *bench }

func (h *httpContest) origin() (part, address string) { return "origin", grayOrigin }

func (h *httpContest) round(c contestant, first bool) (samples, error) {
	s := samples{}
	var p *process
	if c.command != nil {
		var err error
		if p, err = start(proxyCore, c.address, filepath.Join(h.dir, "proxy.log"), c.command); err != nil {
			return nil, err
		}
		defer p.stop()
		time.Sleep(rest)
		s[memoryIdle] = mebibytes(p.memory())
	}
	warm := h.load(c, middleSize)
	warm.Duration = time.Second
	if _, err := h.play(p, warm); err != nil {
		return nil, err
	}
	for size, m := range bySize() {
		f, err := h.play(p, h.load(c, size))
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
		s[m.cpu] = f.cpuEach()
		if size == middleSize {
			s[memory64] = mebibytes(f.memory)
		}
	}
	fixed := h.load(c, middleSize)
	fixed.Rate = h.rate
	f, err := h.play(p, fixed)
	if err != nil {
		return nil, err
	}
	s[p50], s[p99] = f.P50, f.P99
	if p == nil {
		return s, nil
	}
	s[cpuFixed] = f.cpuEach()
	if h.crowd && first {
		err = h.crowds(c, p, s)
	}
	return s, err
}

func (h *httpContest) load(c contestant, size int) load {
	return load{Address: c.address, Size: size, Connections: connections, Duration: h.phase, Mixed: c.command != nil}
}

// played is what a load found, and what it cost.
type played struct {
	found
	cost
}

// cpuEach is the proxy's, in microseconds for each request or connection.
func (p *played) cpuEach() float64 { return float64(p.cpu.Nanoseconds()) / 1e3 / float64(p.All) }

// play runs a load against a proxy, which may be none.
func (h *httpContest) play(p *process, l load) (played, error) {
	r := played{}
	var err error
	if r.cost, err = h.charge(p, "load", l, &r.found); err != nil {
		return r, fmt.Errorf("on %s: %w", l.Address, err)
	}
	if r.Wrong > 0 || r.All == 0 {
		return r, fmt.Errorf("load on %s: %d of %d replies are wrong", l.Address, r.Wrong, r.All)
	}
	return r, nil
}

// crowds measures memory with many connections that have had one request each.
func (h *httpContest) crowds(c contestant, p *process, s samples) error {
	for n, m := range map[int]measure{1000: memory1000, crowdLarge: memory10000} {
		l := h.load(c, middleSize)
		l.Connections, l.Crowd = n, true
		var f found
		err := h.hold("load", l, &f, func() error {
			if f.Wrong > 0 || f.All != n {
				return fmt.Errorf("%d of %d replies came, %d of them wrong", f.All, n, f.Wrong)
			}
			time.Sleep(rest)
			s[m] = mebibytes(p.memory())
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
