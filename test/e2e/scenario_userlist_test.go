package e2e

import (
	"fmt"
	"testing"

	"graylane/test/harness"
)

// TestScenarioUserList: four providers of one service, one of them gray, and a list of gray users.
func TestScenarioUserList(t *testing.T) {
	m := newMesh(t, shape{
		services: []service{{name: "provider", tags: []string{"base", "gray", "base", "base"}}},
		rules: `
rules:
  - name: gray-users
    tag: gray
    matches:
      - headers: [{name: X-User-Id, values: ["1", "2", "3", "4", "5", "6", "7", "8", "9", "10"]}]
`})
	consumer := m.outside()

	for user := 1; user <= 10; user++ {
		for range 10 {
			if got, want := consumer.get("", "X-User-Id", fmt.Sprint(user)).Pod, "provider-gray"; got != want {
				t.Fatalf("user %d is served by %s, want %s", user, got, want)
			}
		}
	}

	const each = 30
	served := map[string]int{}
	for i := range 3 * each {
		served[consumer.get("", "X-User-Id", fmt.Sprint(11+i)).Pod]++
	}
	served[consumer.get("").Pod]++ // a user without an id is anyone else
	for _, name := range []string{"provider-base", "provider-base-2", "provider-base-3"} {
		if n := served[name]; n < each || n > each+1 {
			t.Errorf("%s served %d of the others' %d requests, want a third: %v", name, n, 3*each+1, served)
		}
	}
	if n := served["provider-gray"]; n > 0 {
		t.Errorf("the gray provider served %d requests of users who are not on the list", n)
	}

	m.pod("provider", "gray").stop()
	for user := 1; user <= 12; user++ {
		if got, want := consumer.get("", "X-User-Id", fmt.Sprint(user)).Tag, "base"; got != want {
			t.Errorf("with the gray provider stopped, user %d is served by %s, want %s", user, got, want)
		}
	}
	harness.WaitFor(t, "a fallback is counted for each of the 10 users of the list", func() bool {
		return m.entry.Metric(t, "graylane_fallback_total", `service="provider"`, `tag="gray"`) == 10
	})
}
