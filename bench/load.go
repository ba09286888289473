package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// load is what `bench load` is to do and what it found, passed on as JSON.
type load struct {
	Address     string
	Size        int
	Connections int
	Rate        int           // requests a second; 0: as many as there is an answer for
	Duration    time.Duration // measured, after a tenth of it has passed
	Crowd       bool          // one request on every connection, which then stay open until stdin ends
	Mixed       bool          // half of the replies are to come from gray
}

// found is the result of a load. Latencies are in microseconds, from when a request was due, so that one that had to
// wait for its turn counts its wait.
type found struct {
	Requests int // in the time that is measured
	All      int // and before and after it
	Seconds  float64
	Wrong    int
	P50, P99 float64
}

// runLoad plays the callers: one thread, no garbage collection, no scheduler in between.
func runLoad(args []string) error {
	var l load
	if err := readTask(args, &l); err != nil {
		return err
	}
	if err := steady(); err != nil {
		return err
	}
	callers, err := connect(l)
	if err != nil {
		return err
	}
	result, err := callers.play(l)
	if err != nil {
		return err
	}
	if err := json.NewEncoder(os.Stdout).Encode(result); err != nil {
		return err
	}
	if l.Crowd {
		_, _ = os.Stdin.Read(make([]byte, 1)) // until whoever started this has looked
	}
	return nil
}

// readTask reads what a part of this binary is to do.
func readTask(args []string, task any) error {
	flags := flag.NewFlagSet("bench", flag.ExitOnError)
	text := flags.String("json", "", "the task")
	if err := flags.Parse(args); err != nil {
		return err
	}
	return json.Unmarshal([]byte(*text), task)
}

// steady keeps what Go does by itself out of what this thread measures.
func steady() error {
	runtime.LockOSThread()
	debug.SetGCPercent(-1)
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, 1000, 0, 0, 0); err != nil {
		return fmt.Errorf("timer slack: %w", err)
	}
	return nil
}

const (
	crowdLarge  = 10_000
	crowdAtOnce = 64 // requests of a crowd, so that memory is that of its connections
)

// play runs a load to its end.
func (c *callers) play(l load) (found, error) {
	warm := l.Duration / 10
	begin := now()
	from, until := begin+int64(warm), begin+int64(warm+l.Duration)
	due := schedule{next: begin}
	if l.Rate > 0 {
		due.gap = int64(time.Second) / int64(l.Rate)
	}
	left, atOnce := math.MaxInt, l.Connections
	if l.Crowd {
		until, left, atOnce = begin+int64(time.Minute), l.Connections, crowdAtOnce
	}
	latencies := make([]int64, 0, 1<<20)
	result := found{Seconds: l.Duration.Seconds()}
	for {
		at := now()
		sending := left > 0 && at < until
		for sending && left > 0 && due.now(at) && c.ready(atOnce) {
			if err := c.send(due.take(at)); err != nil {
				return result, err
			}
			left--
		}
		if !sending && c.under() == 0 {
			break
		}
		if at > until+int64(10*time.Second) {
			return result, fmt.Errorf("%d of %d connections wait for a reply", c.under(), len(c.all))
		}
		done, err := c.wait(due.sleep(at, sending && c.ready(atOnce)))
		if err != nil {
			return result, err
		}
		at = now()
		result.All += len(done)
		for _, d := range done {
			if !d.right {
				result.Wrong++
			}
			if d.due >= from && at <= until {
				result.Requests++
				latencies = append(latencies, at-d.due)
			}
		}
	}
	slices.Sort(latencies)
	result.P50, result.P99 = quantile(latencies, 50), quantile(latencies, 99)
	return result, nil
}

// schedule says when the next request is due. Without a gap it is as soon as there is a connection.
type schedule struct{ next, gap int64 }

func (s *schedule) now(at int64) bool { return s.gap == 0 || s.next <= at }

func (s *schedule) take(at int64) (due int64) {
	if s.gap == 0 {
		return at
	}
	due = s.next
	s.next += s.gap
	return due
}

// sleep is how long to wait for replies, in nanoseconds.
func (s *schedule) sleep(at int64, waiting bool) int64 {
	const most = int64(100 * time.Millisecond)
	if s.gap == 0 || !waiting {
		return most
	}
	return max(0, min(most, s.next-at))
}

// quantile is in microseconds.
func quantile(sorted []int64, percent int) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return float64(sorted[(len(sorted)-1)*percent/100]) / 1e3
}

func now() int64 {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts) // cannot fail for this clock
	return ts.Nano()
}
