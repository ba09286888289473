package upstream

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"graylane/internal/http1"
)

func newGroup(t *Table, service, tag string, addresses ...string) *Group {
	next := t.Begin()
	g := next.Group(service, tag, addresses)
	next.Commit()
	return g
}

func first(g *Group) string {
	pick := g.Pick()
	return pick.Next().Address
}

func TestPickGoesRound(t *testing.T) {
	g := newGroup(NewTable(http1.OriginConfig{}), "users", "base", "a:1", "b:1", "c:1")
	var got []string
	for range 6 {
		got = append(got, first(g))
	}
	if diff := cmp.Diff(got, []string{"a:1", "b:1", "c:1", "a:1", "b:1", "c:1"}); diff != "" {
		t.Errorf("picks differ (-got +want):\n%s", diff)
	}
}

func TestPickOffersEachEndpointOnce(t *testing.T) {
	g := newGroup(NewTable(http1.OriginConfig{}), "users", "base", "a:1", "b:1", "c:1")
	first(g)
	pick := g.Pick()
	var got []string
	for ep := pick.Next(); ep != nil; ep = pick.Next() {
		got = append(got, ep.Address)
	}
	if diff := cmp.Diff(got, []string{"b:1", "c:1", "a:1"}); diff != "" {
		t.Errorf("walk differs (-got +want):\n%s", diff)
	}
}

func TestPickOfEmptyGroupIsNone(t *testing.T) {
	pick := newGroup(NewTable(http1.OriginConfig{}), "users", "gray").Pick()
	if ep := pick.Next(); ep != nil {
		t.Errorf("got %s, want none", ep.Address)
	}
}

func TestVersionsHaveTheirOwnPlaceInTheRound(t *testing.T) {
	next := NewTable(http1.OriginConfig{}).Begin()
	base := next.Group("users", "base", []string{"a:1", "b:1"})
	gray := next.Group("users", "gray", []string{"c:1", "d:1"})
	got := []string{first(base), first(gray), first(base), first(gray)}
	if diff := cmp.Diff(got, []string{"a:1", "c:1", "b:1", "d:1"}); diff != "" {
		t.Errorf("picks differ (-got +want):\n%s", diff)
	}
}

func TestNewGenerationKeepsEndpointsAndPlace(t *testing.T) {
	table := NewTable(http1.OriginConfig{})
	before := newGroup(table, "users", "base", "a:1", "b:1")
	pick := before.Pick()
	ep := pick.Next()
	ep.Begin([]byte("users"))
	ep.End(errors.New("refused"))

	after := newGroup(table, "users", "base", "a:1", "b:1")
	if got := first(after); got != "b:1" {
		t.Errorf("first pick after a reload is %s, want b:1", got)
	}
	want := []Status{
		{Service: "users", Tag: "base", Address: "a:1", Requests: 1, Failures: 1},
		{Service: "users", Tag: "base", Address: "b:1"},
	}
	if diff := cmp.Diff(table.Status(), want); diff != "" {
		t.Errorf("status differs (-got +want):\n%s", diff)
	}
}

func TestOldGenerationServesOnAfterCommit(t *testing.T) {
	table := NewTable(http1.OriginConfig{})
	old := newGroup(table, "users", "base", "a:1")
	newGroup(table, "users", "base", "z:1")
	if got := first(old); got != "a:1" {
		t.Errorf("a request of the policy before got %s, want a:1", got)
	}
}

func TestPickDoesNotAllocate(t *testing.T) {
	g := newGroup(NewTable(http1.OriginConfig{}), "users", "base", "a:1", "b", "[::1]:3")
	authority := []byte("users:8080")
	got := testing.AllocsPerRun(1000, func() {
		pick := g.Pick()
		for ep := pick.Next(); ep != nil; ep = pick.Next() {
			ep.Begin(authority)
			ep.End(nil)
		}
	})
	if got != 0 {
		t.Errorf("got %v allocations per walk, want 0", got)
	}
}
