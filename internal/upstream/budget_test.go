package upstream

import "testing"

// retries takes retries at that time until there is no room.
func retries(b *budget, seconds float64) int {
	n := 0
	for b.retry(at(seconds)) {
		b.tried(at(seconds), 1)
		n++
	}
	return n
}

func TestBudgetAllowsAShareOfTheRequests(t *testing.T) {
	var b budget
	for i := range 10_000 {
		b.tried(at(float64(i)/2000), 1) // over five seconds
	}
	if got, want := retries(&b, 5), retryFloor+10_000/5; got != want {
		t.Errorf("got %d retries, want %d", got, want)
	}
}

func TestBudgetOfAQuietServiceHasAFloor(t *testing.T) {
	var b budget
	if got := retries(&b, 0); got != retryFloor {
		t.Errorf("got %d retries without a request, want %d", got, retryFloor)
	}
	if got := retries(&b, 9); got != 0 {
		t.Errorf("got %d more retries in the same window, want 0", got)
	}
	if got := retries(&b, window); got != retryFloor {
		t.Errorf("got %d retries in the next window, want %d", got, retryFloor)
	}
}

func TestBudgetOfRetriesThatDoNotEndHasTheSameFloor(t *testing.T) {
	var b budget
	n := 0
	for b.retry(at(0)) {
		n++
	}
	if n != retryFloor {
		t.Errorf("got %d retries, want %d", n, retryFloor)
	}
}

func TestBudgetForgetsOldRequests(t *testing.T) {
	var b budget
	for range 10_000 {
		b.tried(at(0), 1)
	}
	if got := retries(&b, 60); got != retryFloor {
		t.Errorf("got %d retries a minute after the requests, want %d", got, retryFloor)
	}
}

func TestBudgetKeepsAStormAtAFifth(t *testing.T) {
	var b budget
	requests, retried := 0, 0
	for i := range 60_000 { // a minute of a thousand a second, and everything fails
		now := at(float64(i) / 1000)
		b.tried(now, 1)
		requests++
		for range 2 {
			if b.retry(now) {
				b.tried(now, 1)
				retried++
			}
		}
	}
	if most := requests/5 + 7*retryFloor; retried > most {
		t.Errorf("got %d retries of %d requests, want at most %d", retried, requests, most)
	}
	if least := requests / 6; retried < least {
		t.Errorf("got %d retries of %d requests, want at least %d", retried, requests, least)
	}
}
