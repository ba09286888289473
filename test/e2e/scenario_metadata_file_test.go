package e2e

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"

	"graylane/test/harness"
)

// registry is a policy whose endpoints stand in a file with metadata, as a registry would write it.
const registry = `
header: gray
headerValues: {gray: "true", base: "false"}
rules:
  - {name: flagged, tag: gray, matches: [{queryParams: [{name: gray, value: "true"}]}]}
services:
  - name: backend
    hosts: [backend]
    versions:
      - {tag: base, file: {path: registry.json, labels: {gray: ""}}}
      - {tag: gray, file: {path: registry.json, labels: {gray: "true"}}}
`

// register writes the registry: these instances are up. Who is gray says so in its metadata.
func (f *fleet) register(names ...string) {
	f.t.Helper()
	type group struct {
		Targets []string          `json:"targets"`
		Labels  map[string]string `json:"labels"`
	}
	list := []group{}
	for _, name := range names {
		i := f.instance(name)
		labels := map[string]string{"instance": name}
		if i.tag == "gray" {
			labels["gray"] = "true"
		}
		list = append(list, group{[]string{i.appAddress}, labels})
	}
	text, err := json.Marshal(list)
	harness.Must(f.t, err)
	f.registryFile().Write(f.t, string(text))
}

func (f *fleet) registryFile() harness.PolicyFile {
	return harness.PolicyFile(filepath.Join(filepath.Dir(string(f.policy)), "registry.json"))
}

// TestScenarioMetadataRegistry: instances join and leave through a registry while requests come; gray and normal ones go
// round robin over their own instances.
func TestScenarioMetadataRegistry(t *testing.T) {
	f := newFleet(t, "backend-base-1", "backend-base-2", "backend-base-3", "backend-gray-1", "backend-gray-2")
	f.register("backend-base-1", "backend-base-2", "backend-gray-1")
	f.run(registry)
	client := f.calls("backend")
	normal := func(int) (*hop, error) {
		answer, err := client.send("")
		if err == nil && answer.Tag != "base" {
			return nil, fmt.Errorf("a normal request was served by %s", answer.Pod)
		}
		return answer, err
	}
	flagged := func(int) (*hop, error) { return client.send("gray=true") }
	known := func(n int) func() bool { return func() bool { return len(f.endpoints()) == n } }

	answer, err := flagged(0)
	harness.Must(t, err)
	if got := answer.Header.Get("gray"); got != "true" {
		t.Errorf("the gray backend sees gray: %q, want true", got)
	}
	answer, err = normal(0)
	harness.Must(t, err)
	if got := answer.Header.Get("gray"); got != "false" {
		t.Errorf("the normal backend sees gray: %q, want false", got)
	}

	l := startLoad(func(worker, i int) (*hop, error) {
		if (worker+i)%3 == 0 {
			return flagged(i)
		}
		return normal(i)
	})
	f.register("backend-base-1", "backend-base-2", "backend-base-3", "backend-gray-1", "backend-gray-2")
	harness.WaitFor(t, "five instances are known", known(5))
	f.register("backend-base-2", "backend-base-3", "backend-gray-2")
	harness.WaitFor(t, "three instances are known", known(3))
	f.registryFile().Write(t, `[{"targets": [`)
	harness.WaitFor(t, "the broken registry is told", func() bool {
		return f.sidecar.Metric(t, "graylane_endpoints_stale", `tag="base"`) == 1
	})
	l.end(t)

	assertRound(t, "normal requests", f.spread(300, normal), "backend-base-2", "backend-base-3")
	f.register("backend-base-2", "backend-base-3", "backend-gray-1", "backend-gray-2")
	harness.WaitFor(t, "four instances are known", known(4))
	assertRound(t, "gray requests", f.spread(300, flagged), "backend-gray-1", "backend-gray-2")

	f.register("backend-base-1")
	harness.WaitFor(t, "one instance is known", known(1))
	answer, err = flagged(0)
	harness.Must(t, err)
	if answer.Tag != "base" || answer.Header.Get("gray") != "true" {
		t.Errorf("without a gray instance a gray request is served by %s with gray: %q, want base with true", answer.Tag, answer.Header.Get("gray"))
	}
	if n := f.sidecar.Metric(t, "graylane_fallback_total", `reason="no_endpoint"`); n != 1 {
		t.Errorf("graylane_fallback_total for no_endpoint = %v, want 1", n)
	}
}

// assertRound compares who served how many requests with an exact round.
func assertRound(t *testing.T, what string, served map[string]int, names ...string) {
	t.Helper()
	total := 0
	for _, n := range served {
		total += n
	}
	for _, name := range names {
		if n, want := served[name], total/len(names); n < want-1 || n > want+1 {
			t.Errorf("%s: %s served %d, want %d: %v", what, name, n, want, served)
		}
	}
}
