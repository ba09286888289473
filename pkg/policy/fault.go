package policy

import (
	"fmt"
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
func (f Faults) Error() string {
	const most = 100 // it goes into one log line
	lines := make([]string, 0, min(len(f), most)+1)
	for i, fault := range f {
		if i == most {
			lines = append(lines, fmt.Sprintf("and %d more", len(f)-most))
			break
		}
		lines = append(lines, fault.Error())
	}
	return strings.Join(lines, "\n")
}
