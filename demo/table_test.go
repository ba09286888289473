package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTableHasAColumnForEachUserAndARowForEachService(t *testing.T) {
	got := table([]visit{
		{1, []string{"gray", "gray", "base"}},
		{12, []string{"base", "base", "base"}},
	})
	want := `
  user        1   12
  front    gray base
  orders   gray base
  users    base base
`
	if diff := cmp.Diff(strings.TrimPrefix(want, "\n"), got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestAnswerOfTheChainIsRead(t *testing.T) {
	for _, c := range []struct {
		name, answer string
		want         []string
		fault        string
	}{
		{"whole", "front-gray -> orders-base -> users-gray\n", []string{"gray", "base", "gray"}, ""},
		{"tag with a dash", "front-pr-142 -> orders-base -> users-base", []string{"pr-142", "base", "base"}, ""},
		{"two hops", "front-gray -> orders-base\n", nil, "incomplete"},
		{"four hops", "front-a -> orders-a -> users-a -> more-a", nil, "unexpected"},
		{"other service", "front-gray -> users-gray -> orders-gray", nil, "unexpected"},
		{"error text", "no endpoint", nil, "unexpected"},
		{"nothing", "", nil, "unexpected"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := parseVisit(1, c.answer)
			if c.fault != "" {
				if err == nil || !strings.Contains(err.Error(), c.fault) {
					t.Errorf("error is %v, want one with %q", err, c.fault)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got.tags); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}
