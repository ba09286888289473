package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

const (
	quiet     = 0.10 // of a core, that others may use before a measurement
	disturbed = 0.15 // of a core, that others may use during one; above it, it is made again
	tries     = 3
	openFiles = crowdLarge + 1000 // that a proxy needs, and the load
)

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
	if b.origin, err = start(loadCore, grayOrigin, filepath.Join(dir, "origin.log"), []string{b.self, "origin"}); err != nil {
		return err
	}
	defer b.origin.stop()
	all, err := contestants(o, dir)
	if err != nil {
		return err
	}
	for _, c := range all {
		if err := b.prove(c); err != nil {
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
			fmt.Fprintf(os.Stderr, "round %d of %d, %s: %.0f requests/s, %.1f us each; others used %.0f %% of a core\n",
				round+1, o.rounds, c.name, s[bySize1K().requests], s[bySize1K().cpu], 100*s[foreign])
		}
	}
	fmt.Print(report(o, all, results))
	return nil
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
		s, err := b.round(c, first)
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
