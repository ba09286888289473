package upstream

import "testing"

func TestChecked(t *testing.T) {
	for _, c := range []struct{ name, checks, want string }{
		{"well until the first check", "", ""},
		{"three failures in a row make ill", "---", "++-"},
		{"a success between starts the count again", "--+---", "+++++-"},
		{"two successes in a row make well", "---++", "++--+"},
		{"a failure between starts the count again", "---+-++", "++----+"},
		{"the change counts from the other side", "---++---", "++--+++-"},
	} {
		var checked checked
		got := ""
		for _, check := range c.checks {
			checked.report(&Check{HealthyAfter: 2, UnhealthyAfter: 3}, check == '+')
			if checked.ill {
				got += "-"
			} else {
				got += "+"
			}
		}
		if got != c.want {
			t.Errorf("%s: checks %s: got %s, want %s", c.name, c.checks, got, c.want)
		}
	}
}
