package inject

import (
	"fmt"
	"strings"
)

// Faults is everything for which a pod is refused, at least one, each with its place. Of more than maxFaults the last
// says so.
type Faults []string

const maxFaults = 50 // a pod may have 100,000 annotations; who mends these sees the next

func (f Faults) Error() string { return strings.Join(f, "\n") }

func (f *Faults) note(place, format string, args ...any) {
	switch n := len(*f); {
	case n < maxFaults:
		*f = append(*f, place+": "+fmt.Sprintf(format, args...))
	case n == maxFaults:
		*f = append(*f, "and more")
	}
}

// orNil keeps an empty list from being an error.
func (f Faults) orNil() error {
	if len(f) == 0 {
		return nil
	}
	return f
}
