package e2e

import (
	"fmt"
	"sync/atomic"
	"testing"

	"graylane/test/harness"
)

// many is how many requests have to go right before an invariant counts as seen.
const many = 10_000

// changing are policies that differ in everything but what becomes of users 1 to 3 and of users from 100 on.
var changing = []string{
	testers,
	testers + `  - {name: more, tag: gray, matches: [{headers: [{name: X-User-Id, values: ["11", "12"]}]}]}` + "\n",
	testers + `  - {name: share, tag: gray, percent: 50, by: {header: X-Nobody}}` + "\n",
	testers + `  - {name: blue, tag: blue, matches: [{cookies: [{name: blue, value: "1"}]}]}` + "\n",
}

func TestBaseRequestsNeverReachGrayWhilePoliciesChange(t *testing.T) {
	t.Parallel()
	m := newMesh(t, shape{services: shop(both, both, both), rules: testers})
	off := append([]string{"enabled: false\n" + testers}, changing...)
	sendWhileChanging(m, off, func(i int) (user, want string) {
		return fmt.Sprint(100 + i), "front-base orders-base users-base"
	})
	if n := m.requests("gray"); n != 0 {
		t.Errorf("the gray pods served %d requests, want none", n)
	}
}

func TestGrayRequestsAreGrayWherePossibleWhilePoliciesChange(t *testing.T) {
	t.Parallel()
	m := newMesh(t, shape{services: shop(both, baseOnly, both), rules: testers})
	want := sendWhileChanging(m, changing, func(i int) (user, want string) {
		return fmt.Sprint(1 + i%3), "front-gray orders-base users-gray"
	})
	if got := m.pod("users", "gray").number(t, "/requests"); got != want {
		t.Errorf("users-gray served %d requests, want %d", got, want)
	}
}

// sendWhileChanging sends many requests, and swaps policies meanwhile. It gives how many requests there were.
func sendWhileChanging(m *mesh, policies []string, request func(i int) (user, want string)) (sent int) {
	m.t.Helper()
	outside := m.outside()
	sent = manyWhile(m.t, len(policies), func(changed int) { m.change(policies[changed%len(policies)]) }, func(i int) error {
		user, want := request(i)
		answer, err := outside.send("", "X-User-Id", user)
		if err != nil {
			return err
		}
		if got := answer.path(); got != want {
			return fmt.Errorf("user %s is served by %q, want %q", user, got, want)
		}
		return nil
	})
	for _, s := range m.sidecars() {
		if n := s.Metric(m.t, "graylane_leak_total"); n != 0 {
			m.t.Errorf("%s counts %v requests of other tags than its own, want none", s.Name, n)
		}
	}
	return sent
}

// manyWhile calls send many times, and change meanwhile; and again as often until there were so many changes, where the
// requests were quick or the changes slow. It gives how many requests there were.
func manyWhile(t testing.TB, changes int, change func(n int), send func(i int) error) (sent int) {
	t.Helper()
	var changed atomic.Int64
	done := make(chan struct{})
	go func() {
		defer close(done)
		for sent == 0 || int(changed.Load()) < changes && !t.Failed() {
			harness.InParallel(t, many, send)
			sent += many
		}
	}()
	for running(done) {
		change(int(changed.Add(1)))
	}
	t.Logf("%d policies meanwhile", changed.Load())
	return sent
}

func running(done <-chan struct{}) bool {
	select {
	case <-done:
		return false
	default:
		return true
	}
}
