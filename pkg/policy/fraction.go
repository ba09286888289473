package policy

import (
	"fmt"
	"strconv"
)

// Fraction is a part of a whole, from 0 to 1.
type Fraction float64

func (f *Fraction) wanted() string { return "a number from 0 to 1" }

func (f *Fraction) pattern() string { return "" }

func (f *Fraction) parse(text string) error {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !(n >= 0 && n <= 1) {
		return fmt.Errorf("want %s", f.wanted())
	}
	*f = Fraction(n)
	return nil
}
