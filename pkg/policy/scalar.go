package policy

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// scalar is a value with a text form of its own. parse says what was wanted
// where the text does not have that form.
type scalar interface {
	parse(text string) error
	wanted() string
	pattern() string // of the schema
}

// Percent is a share in hundredths of a percent: 5 % is 500.
type Percent int32

// whole is the share of all requests.
const whole Percent = 100_00

// String returns the share as a policy writes it, without the sign: 5, 0.25.
func (p Percent) String() string {
	return strconv.FormatFloat(float64(p)/100, 'f', -1, 64)
}

func (p *Percent) wanted() string { return "a number from 0 to 100 with at most two decimals" }

func (p *Percent) pattern() string { return "" }

func (p *Percent) parse(text string) error {
	units, decimals, _ := strings.Cut(text, ".")
	if len(units) > 3 || len(decimals) > 2 {
		return fmt.Errorf("want %s", p.wanted())
	}
	n, err := strconv.ParseUint(units+(decimals + "00")[:2], 10, 32)
	if err != nil || n > uint64(whole) {
		return fmt.Errorf("want %s", p.wanted())
	}
	*p = Percent(n)
	return nil
}

// Duration is a length of time as Go writes it: 90s, 30m, 2h.
type Duration time.Duration

func (d *Duration) wanted() string { return "a duration such as 90s, 30m or 2h" }

func (d *Duration) pattern() string { return `^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$` }

func (d *Duration) parse(text string) error {
	parsed, err := time.ParseDuration(text)
	if err != nil {
		return fmt.Errorf("want %s", d.wanted())
	}
	*d = Duration(parsed)
	return nil
}

// Time is a point in time in RFC 3339 form.
type Time struct{ time.Time }

func (t *Time) wanted() string { return "a time such as 2026-12-01T10:00:00Z" }

func (t *Time) pattern() string {
	return `^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})$`
}

func (t *Time) parse(text string) error {
	parsed, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return fmt.Errorf("want %s", t.wanted())
	}
	t.Time = parsed
	return nil
}
