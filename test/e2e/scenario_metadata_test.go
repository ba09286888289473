package e2e

import "testing"

// TestScenarioMetadata: a flag in the request, told to the backends by a header of choice;
// gray and normal requests go round robin over their own instances.
func TestScenarioMetadata(t *testing.T) {
	m := newMesh(t, shape{
		services: []service{{name: "backend", tags: []string{"base", "base", "gray", "gray"}}},
		rules: `
header: gray
rules:
  - name: flagged
    tag: gray
    matches:
      - queryParams: [{name: gray, value: "true"}]
      - headers: [{name: X-Beta, values: ["on"]}]
      - headers: [{name: X-User-Id, values: ["42"]}]
      - cookies: [{name: gray, value: "1"}]
`})
	gateway := m.outside()

	for _, c := range []struct {
		name, query string
		headers     []string
		want        string
	}{
		{"query", "gray=true", nil, "gray"},
		{"query among others", "a=1&gray=true&b=2", nil, "gray"},
		{"query with another value", "gray=false", nil, "base"},
		{"header", "", []string{"X-Beta", "on"}, "gray"},
		{"header in another case", "", []string{"x-beta", "on"}, "gray"},
		{"user", "", []string{"X-User-Id", "42"}, "gray"},
		{"other user", "", []string{"X-User-Id", "420"}, "base"},
		{"cookie", "", []string{"Cookie", "a=b; gray=1"}, "gray"},
		{"nothing", "", nil, "base"},
	} {
		t.Run(c.name, func(t *testing.T) {
			answer := gateway.get(c.query, c.headers...)
			if answer.Tag != c.want {
				t.Errorf("served by %s, want %s", answer.Tag, c.want)
			}
			if got := answer.Header.Get("gray"); got != c.want {
				t.Errorf("the backend sees gray: %q, want %q", got, c.want)
			}
		})
	}

	// Three gray requests between two normal ones: a shared position would give one instance twice in a row.
	last := map[string]string{}
	for i := range 40 {
		query := ""
		if i%5 > 1 {
			query = "gray=true"
		}
		answer := gateway.get(query)
		if answer.Pod == last[answer.Tag] {
			t.Fatalf("request %d: %s served two %s requests in a row", i, answer.Pod, answer.Tag)
		}
		last[answer.Tag] = answer.Pod
	}

	for _, p := range m.podsOf("backend", "gray") {
		p.stop()
	}
	answer := gateway.get("gray=true")
	if answer.Tag != "base" {
		t.Errorf("without a gray instance a gray request is served by %s, want base", answer.Tag)
	}
	if got := answer.Header.Get("gray"); got != "gray" {
		t.Errorf("the request that fell back carries gray: %q, want gray", got)
	}
}
