package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestGuestsNoteHowTheyWereServed(t *testing.T) {
	shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch user := r.Header.Get("X-User-Id"); {
		case r.Host != "front" || r.Method != http.MethodPost:
			t.Errorf("got %s for %s, want POST for front", r.Method, r.Host)
		case user == "1", user == "5":
			fmt.Fprintln(w, "front-base -> orders-gray -> users-base")
		case user == "6":
			http.Error(w, "no", http.StatusServiceUnavailable)
		default:
			fmt.Fprintln(w, "front-base -> orders-base -> users-base")
		}
	}))
	defer shop.Close()
	g := &guests{
		visitor: visitor{client: shop.Client(), url: shop.URL, host: "front", method: http.MethodPost},
		gray:    []int{1, 2, 3}, limit: 2 * usersInAll, pace: time.Microsecond, tally: tally{Paths: map[string]int{}},
	}
	g.visit(t.Context(), 3)
	want := tally{Sent: 24, Failed: 2, Leaked: 2, Paths: map[string]int{"1 base gray base": 2, "5 base gray base": 2}}
	for _, user := range []int{2, 3, 4, 7, 8, 9, 10, 11, 12} {
		want.Paths[fmt.Sprint(user, " base base base")] = 2
	}
	if diff := cmp.Diff(g.tally, want, cmpopts.IgnoreFields(tally{}, "Faults")); diff != "" {
		t.Errorf("tally (got -, want +):\n%s", diff)
	}
	if len(g.tally.Faults) != 4 {
		t.Errorf("faults: %q, want 4", g.tally.Faults)
	}
	if err := g.report(); err == nil {
		t.Error("no error, want one for failures and leaks")
	}
}
