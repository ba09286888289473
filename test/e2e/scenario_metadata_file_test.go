package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"graylane/test/harness"
)

// registry is a policy whose endpoints stand in a file with metadata, as a registry would write it.
const registry = `
header: gray
headerValues: {gray: "true", base: "false"}` + registered

const registered = `
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
	harness.WaitFor(t, "one fallback is counted as no_endpoint", func() bool {
		return f.sidecar.Metric(t, "graylane_fallback_total", `reason="no_endpoint"`) == 1
	})
}

// TestScenarioMetadataRegistryUnderLoad: one instance is killed, one slowed and one started again while requests of both
// kinds come. None fails, each kind stays with its own instances, and those share it equally.
func TestScenarioMetadataRegistryUnderLoad(t *testing.T) {
	f := newFleet(t, "backend-base-1", "backend-base-2", "backend-base-3", "backend-gray-1", "backend-gray-2")
	everybody := []string{"backend-base-1", "backend-base-2", "backend-base-3", "backend-gray-1", "backend-gray-2"}
	f.register(everybody...)
	f.run(registered)
	client := f.calls("backend")
	l := startLoad(func(worker, i int) (*hop, error) {
		if (worker+i)%2 == 0 {
			return client.send("gray=true")
		}
		answer, err := client.send("")
		if err == nil && answer.Tag != "base" {
			return nil, fmt.Errorf("a normal request was served by %s", answer.Pod)
		}
		return answer, err
	})
	// shares wants each kind to be spread over the named instances alone.
	shares := func(when, base, gray string) {
		t.Helper()
		served := l.next(t, 1000)
		for tag, names := range map[string]string{"base": base, "gray": gray} {
			part := maps.Clone(served)
			maps.DeleteFunc(part, func(name string, n int) bool { return n == 0 || !strings.Contains(name, "-"+tag) })
			assertShares(t, when+", "+tag, part, parts(names))
		}
	}

	shares("at first", "backend-base-1 backend-base-2 backend-base-3", "backend-gray-1 backend-gray-2")
	dead := f.instance("backend-base-1")
	dead.app.Kill()
	f.waitState("backend-base-1", "out")
	shares("one is dead", "backend-base-2 backend-base-3", "backend-gray-1 backend-gray-2")
	f.instance("backend-gray-1").behave(t, "delay=10ms")
	shares("one is slow", "backend-base-2 backend-base-3", "backend-gray-1 backend-gray-2")

	// As registries do: the dead one leaves when it is missed, and is listed again once it is up.
	f.register(everybody[1:]...)
	harness.WaitFor(t, "the dead one is forgotten", func() bool { return len(f.endpoints()) == 4 })
	dead.restart(t)
	f.register(everybody...)
	harness.WaitFor(t, "the new one serves", func() bool { return dead.number(t, "/requests") > 0 })
	shares("all are up again", "backend-base-1 backend-base-2 backend-base-3", "backend-gray-1 backend-gray-2")
	f.instance("backend-gray-2").app.Kill()
	f.waitState("backend-gray-2", "out")
	shares("a gray one is dead", "backend-base-1 backend-base-2 backend-base-3", "backend-gray-1")
	l.end(t)
	f.assertNoStrays()
	if n := f.sidecar.Metric(t, "graylane_fallback_total"); n != 0 {
		t.Errorf("graylane_fallback_total = %v, want 0: a gray instance was there all the time", n)
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
