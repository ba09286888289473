package policy

import (
	"fmt"
	"log/slog"
	"strconv"
	"strings"
)

// Fault is one thing wrong in a policy file.
type Fault struct {
	File   string `json:"file"`
	Line   int    `json:"line"`   // from 1; 0: the whole file
	Column int    `json:"column"` // from 1, in characters; 0: the whole file
	Where  string `json:"where"`  // services[users].versions[1].tag
	What   string `json:"what"`   // what is wrong, and what was wanted
}

// Error returns `file:line:column: where: what`.
func (f Fault) Error() string {
	var b strings.Builder
	b.WriteString(f.File)
	if f.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", f.Line, f.Column)
	}
	if f.Where != "" {
		b.WriteString(": " + f.Where)
	}
	b.WriteString(": " + f.What)
	return b.String()
}

// Faults is every fault of one policy file, in the order of the file.
type Faults []Fault

// Error returns the faults, one a line: the first hundred, and how many more
// there are.
func (f Faults) Error() string { return strings.Join(f.lines(), "\n") }

// LogValue gives each of these lines an attribute of its own: 1, 2 and so on.
func (f Faults) LogValue() slog.Value {
	var attrs []slog.Attr
	for i, line := range f.lines() {
		attrs = append(attrs, slog.String(strconv.Itoa(i+1), line))
	}
	return slog.GroupValue(attrs...)
}

func (f Faults) lines() []string {
	const most = 100 // what people and log stores read at a time
	lines := make([]string, 0, min(len(f), most)+1)
	for i, fault := range f {
		if i == most {
			return append(lines, fmt.Sprintf("and %d more", len(f)-most))
		}
		lines = append(lines, fault.Error())
	}
	return lines
}
