package policy

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"time"
)

// Records reads recorded requests, one JSON object a line: a [Sample], or a
// line of the access log that was written with --log-inputs.
type Records struct {
	in      *bufio.Scanner
	line    int
	skipped int
	err     error
}

// maxRecord is the longest line of records in bytes: the head of a request is
// 64 KiB at most, and JSON may need six bytes for one.
const maxRecord = 1 << 20

// NewRecords reads from in.
func NewRecords(in io.Reader) *Records {
	scanner := bufio.NewScanner(in)
	scanner.Buffer(nil, maxRecord)
	return &Records{in: scanner}
}

// All returns the requests up to the end or the first line that is none.
func (r *Records) All() iter.Seq[*Sample] {
	return func(yield func(*Sample) bool) {
		for r.err == nil && r.in.Scan() {
			r.line++
			if s := r.sample(r.in.Bytes()); s != nil && !yield(s) {
				return
			}
		}
		if err := r.in.Err(); err != nil {
			r.err = fmt.Errorf("line %d: %w", r.line+1, err)
		}
	}
}

// Err returns why All ended before the end, nil if it did not.
func (r *Records) Err() error { return r.err }

// Skipped returns how many lines were lines of a log without inputs.
func (r *Records) Skipped() int { return r.skipped }

// logged is a line of the access log.
type logged struct {
	Time   time.Time `json:"time"`
	Msg    *string   `json:"msg"`
	Inputs *Sample   `json:"inputs"`
	Tag    string    `json:"tag"`
	Source string    `json:"source"`
}

// sample returns the request of a line, nil where it has none.
func (r *Records) sample(line []byte) *Sample {
	if len(line) == 0 {
		return nil
	}
	var l logged
	if r.decode(line, &l); r.err != nil {
		return nil
	}
	switch {
	case l.Inputs != nil:
		if l.Inputs.Time.IsZero() {
			l.Inputs.Time = l.Time
		}
		if !decidedHere(l.Source) {
			l.Inputs.Tag = l.Tag
		}
		return l.Inputs
	case l.Msg != nil:
		r.skipped++
		return nil
	}
	s := new(Sample)
	r.decode(line, s)
	return s
}

func (r *Records) decode(line []byte, into any) {
	if err := json.Unmarshal(line, into); err != nil {
		r.err = fmt.Errorf("line %d: %w", r.line, err)
	}
}

// decidedHere tells whether the rules were asked for a request whose tag has
// that source in the log.
func decidedHere(source string) bool {
	return source == "rule" || source == "base" || source == "undecided" || source == "off"
}
