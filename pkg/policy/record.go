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

// record is a line of the access log, or a sample by itself.
type record struct {
	Sample
	Inputs *Sample   `json:"inputs"`
	Msg    *string   `json:"msg"`
	Source string    `json:"source"`
	Time   time.Time `json:"time"`
}

func (r *Records) sample(line []byte) *Sample {
	if len(line) == 0 {
		return nil
	}
	var rec record
	if err := json.Unmarshal(line, &rec); err != nil {
		r.err = fmt.Errorf("line %d: %w", r.line, err)
		return nil
	}
	switch {
	case rec.Inputs != nil:
		if rec.Inputs.Time.IsZero() {
			rec.Inputs.Time = rec.Time
		}
		if rec.Source != "rule" && rec.Source != "base" && rec.Source != "off" {
			rec.Inputs.Tag = rec.Tag
		}
		return rec.Inputs
	case rec.Msg != nil:
		r.skipped++
		return nil
	}
	rec.Sample.Time = rec.Time
	return &rec.Sample
}
