package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	quiet     = 0.10 // of a core, that others may use before a measurement
	disturbed = 0.15 // of a core, that others may use during one; above it, it is made again
	tries     = 3
	openFiles = 20_000 // that a proxy of raw connections needs, each of which takes two
)

// contest is what is measured: the work, who does it, and what it costs.
type contest interface {
	// origin gives the part that plays the origins, and where one of them accepts.
	origin() (part, address string)
	// contestants writes what they need into the folder. The first is the way without a proxy, the second HAProxy.
	contestants() ([]contestant, error)
	// prove checks that a contestant does the work.
	prove(c contestant) error
	// round measures a contestant once; some things in the first round only.
	round(c contestant, first bool) (samples, error)
	// lines are the measures of the report, about is what it says of them.
	lines() []measure
	about() string
}

// run measures and prints.
func run(o options) error {
	if err := settle(); err != nil {
		return err
	}
	if err := allowFiles(); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "graylane-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b := &bench{options: o, dir: dir}
	if b.self, err = os.Executable(); err != nil {
		return err
	}
	if b.contest, err = b.contestOf(); err != nil {
		return err
	}
	part, address := b.contest.origin()
	if b.origins, err = start(loadCore, address, filepath.Join(dir, "origin.log"), []string{b.self, part}); err != nil {
		return err
	}
	defer b.origins.stop()
	all, err := b.contest.contestants()
	if err != nil {
		return err
	}
	all = b.wanted(all)
	for _, c := range all {
		if err := b.contest.prove(c); err != nil {
			return fmt.Errorf("%s does not do the work: %w", c.name, err)
		}
	}
	results := map[string][]samples{}
	for round := range o.rounds {
		for _, c := range all {
			s, err := b.undisturbed(c, round == 0)
			if err != nil {
				return fmt.Errorf("%s, round %d: %w", c.name, round+1, err)
			}
			results[c.name] = append(results[c.name], s)
			fmt.Fprintf(os.Stderr, "round %d of %d, %s: others used %.0f %% of a core\n", round+1, o.rounds, c.name, 100*s[foreign])
		}
	}
	fmt.Print(report(b.contest, all, results))
	return nil
}

func (b *bench) contestOf() (contest, error) {
	if b.tcp {
		return newTCPContest(b)
	}
	return &httpContest{b}, nil
}

// wanted drops those that the options do not name. The way without a proxy and HAProxy stay, to compare with.
func (b *bench) wanted(all []contestant) []contestant {
	if b.only == "" {
		return all
	}
	names := append(strings.Split(b.only, ","), all[0].name, all[1].name)
	return slices.DeleteFunc(all, func(c contestant) bool { return !slices.Contains(names, c.name) })
}

// allowFiles lets this process and all that it starts open as many files as the machine allows.
func allowFiles() error {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return err
	}
	if limit.Max < openFiles {
		return fmt.Errorf("%d open files are allowed here, want %d", limit.Max, openFiles)
	}
	limit.Cur = limit.Max
	return unix.Setrlimit(unix.RLIMIT_NOFILE, &limit)
}

// undisturbed is a round in which nobody else used the machine much, or the least disturbed of a few.
func (b *bench) undisturbed(c contestant, first bool) (samples, error) {
	var best samples
	for range tries {
		b.await()
		s, err := b.contest.round(c, first)
		if err != nil {
			return nil, err
		}
		if best == nil || s[foreign] < best[foreign] {
			best = s
		}
		if best[foreign] <= disturbed {
			break
		}
	}
	return best, nil
}

// await waits, as long as the options say, until others leave the machine alone.
func (b *bench) await() {
	for end := time.Now().Add(b.patience); time.Now().Before(end); {
		before := busy()
		time.Sleep(rest)
		if (busy() - before).Seconds() < quiet*rest.Seconds() {
			return
		}
	}
}
