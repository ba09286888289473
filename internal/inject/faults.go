package inject

import (
	"fmt"
	"strings"
)

// Faults is everything for which a pod is refused, at least one, each with its place.
type Faults []string

func (f Faults) Error() string { return strings.Join(f, "\n") }

func (f *Faults) note(place, format string, args ...any) {
	*f = append(*f, place+": "+fmt.Sprintf(format, args...))
}

// orNil keeps an empty list from being an error.
func (f Faults) orNil() error {
	if len(f) == 0 {
		return nil
	}
	return f
}
