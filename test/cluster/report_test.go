//go:build cluster

package cluster_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"text/tabwriter"
	"time"
)

// report is what was measured, in the order of its lines.
type report struct{ lines [][2]string }

func (r *report) note(what, format string, args ...any) {
	r.lines = append(r.lines, [2]string{what, fmt.Sprintf(format, args...)})
}

// publish prints the report and writes it to a file.
func (r *report) publish(t *testing.T, path string) {
	var b strings.Builder
	columns := tabwriter.NewWriter(&b, 0, 0, 3, ' ', 0)
	for _, line := range r.lines {
		fmt.Fprintf(columns, "%s\t%s\n", line[0], line[1])
	}
	if err := columns.Flush(); err != nil {
		t.Error(err)
	}
	t.Logf("the report, which is in %s too:\n%s", path, b.String())
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
		t.Error(err)
	}
}

// seconds shows measured times, the shortest and the longest of several.
func seconds(all []time.Duration) string {
	var texts []string
	for _, d := range all {
		texts = append(texts, fmt.Sprintf("%.1f", d.Seconds()))
	}
	return strings.Join(texts, ", ") + " s"
}
