package main

import (
	"fmt"
	"iter"
	"os/exec"
	"runtime"
	"slices"
	"strings"
)

// measure is a line of the report.
type measure string

const (
	cpuFixed    measure = "CPU µs a request, fixed rate"
	p50         measure = "p50 µs, fixed rate"
	p99         measure = "p99 µs, fixed rate"
	memoryIdle  measure = "memory MiB, idle"
	memory64    measure = "memory MiB, 64 busy connections"
	memory1000  measure = "memory MiB, 1,000 connections"
	memory10000 measure = "memory MiB, 10,000 connections"
	foreign     measure = "others' use of the machine"
)

// sized are the measures that are taken at every size.
type sized struct{ requests, cpu measure }

// bySize lists them by the size of the body.
func bySize() iter.Seq2[int, sized] {
	return func(yield func(int, sized) bool) {
		for _, s := range []struct {
			size int
			name string
		}{{0, "0 B"}, {middleSize, "1 KB"}, {64 << 10, "64 KB"}, {largest, "1 MB"}} {
			if !yield(s.size, sized{measure("requests/s, " + s.name), measure("CPU µs a request, " + s.name)}) {
				return
			}
		}
	}
}

// report is one table: medians, and ratios to HAProxy in the same round.
func report(k contest, all []contestant, results map[string][]samples) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %d CPUs, %s; one core for the proxy, one for origins and load.\n", model(), runtime.NumCPU(), kernel())
	fmt.Fprintln(&b, k.about())
	fmt.Fprintf(&b, "Each cell: median (median of the ratios to %s in the same round; least to most). The latencies of proxies are what they add to %s.\n\n", haproxy, direct)
	b.WriteString("|  |")
	for _, c := range all {
		fmt.Fprintf(&b, " %s |", c.name)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(all)) + "\n")
	for _, m := range k.lines() {
		fmt.Fprintf(&b, "| %s |", m)
		for _, c := range all {
			fmt.Fprintf(&b, " %s |", cell(c.name, m, results))
		}
		b.WriteString("\n")
	}
	worst := 0.0
	for _, rounds := range results {
		for _, s := range rounds {
			worst = max(worst, s[foreign])
		}
	}
	fmt.Fprintf(&b, "\nOthers used at most %.0f %% of a core during a measurement.\n", 100*worst)
	return b.String()
}

func (h *httpContest) about() string {
	return fmt.Sprintf("%d interleaved rounds of %v; %d connections; fixed rate %d requests/s of 1 KB.", h.rounds, h.phase, connections, h.rate)
}

func (h *httpContest) lines() []measure {
	var requests, cpu []measure
	for _, m := range bySize() {
		requests, cpu = append(requests, m.requests), append(cpu, m.cpu)
	}
	return slices.Concat(requests, cpu, []measure{cpuFixed, p50, p99, memoryIdle, memory64, memory1000, memory10000})
}

func cell(name string, m measure, results map[string][]samples) string {
	values := valuesOf(name, m, results)
	if len(values) == 0 {
		return "–"
	}
	text := figure(median(values))
	var ratios []float64
	if reference := valuesOf(haproxy, m, results); name != direct && name != haproxy && len(reference) == len(values) {
		for i := range values {
			ratios = append(ratios, values[i]/reference[i])
		}
	}
	if len(ratios) > 0 {
		text += fmt.Sprintf(" (%.2f; %.2f to %.2f)", median(ratios), slices.Min(ratios), slices.Max(ratios))
	}
	return text
}

// figure writes three digits or more.
func figure(v float64) string {
	switch {
	case v < 10:
		return fmt.Sprintf("%.2f", v)
	case v < 1000:
		return fmt.Sprintf("%.1f", v)
	default:
		return fmt.Sprintf("%.0f", v)
	}
}

// valuesOf are those of all rounds; latencies of proxies less those of the direct way.
func valuesOf(name string, m measure, results map[string][]samples) []float64 {
	var values []float64
	for i, s := range results[name] {
		v, ok := s[m]
		if !ok {
			continue
		}
		if (m == p50 || m == p99) && name != direct {
			v -= results[direct][i][m]
		}
		values = append(values, v)
	}
	return values
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

func model() string {
	for line := range strings.Lines(readText("/proc/cpuinfo")) {
		if name, value, _ := strings.Cut(line, ":"); strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

func kernel() string {
	out, err := exec.Command("uname", "-sr").Output()
	if err != nil {
		return "an unknown kernel"
	}
	return strings.TrimSpace(string(out))
}
