package main

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"graylane/pkg/policy"
	"graylane/test/harness"
)

func TestDoubtsAboutThePodAndThePolicy(t *testing.T) {
	const (
		noService = "the policy has no service of this name, so that its edge does not hold here: is --service right?"
		noName    = "the policy has services with edge: true, which hold for pods that were given their name by --service"
		noTag     = "the service has no version with this tag, so that no request is sent here: is --tag right?"
	)
	inside := `services: [{name: users, versions: [{tag: base, endpoints: ["a:1"]}, {tag: gray, endpoints: ["b:1"]}]}, {name: old}]`
	edge := `services: [{name: users, versions: [{tag: base, endpoints: ["a:1"]}]}, {name: front, edge: true}]`
	for _, c := range []struct {
		name, policy, service, tag string
		want                       []string
	}{
		{"a pod that the policy knows", inside, "users", "gray", nil},
		{"another tag", inside, "users", "blue", []string{noTag}},
		{"another service", inside, "usesr", "base", []string{noService}},
		{"a service without versions", inside, "old", "gray", nil},
		{"no service", inside, "", "base", nil},
		{"no service where there is an edge", edge, "", "base", []string{noName}},
		{"another service where there is an edge", edge, "usesr", "base", []string{noService}},
		{"the edge itself", edge, "front", "base", nil},
		{"an empty policy", "", "", "gray", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := policy.Parse("policy.yaml", []byte("apiVersion: graylane.dev/v1\n"+c.policy))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(doubts(p, c.service, c.tag), c.want); diff != "" {
				t.Errorf("doubts (got -, want +):\n%s", diff)
			}
		})
	}
}

func TestAnAddressThatAFileNamesBelongsToItsService(t *testing.T) {
	folder := t.TempDir()
	list, policyFile := filepath.Join(folder, "gray.json"), filepath.Join(folder, "policy.yaml")
	write := func(name, text string) {
		t.Helper()
		// As a whole: half a list is none.
		if err := os.WriteFile(name+".new", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(name+".new", name); err != nil {
			t.Fatal(err)
		}
	}
	endpoint := func(address string) { write(list, fmt.Sprintf(`[{"targets": [%q]}]`, address)) }
	endpoint("192.0.2.1:8080")
	write(policyFile, "apiVersion: graylane.dev/v1\nservices: [{name: users, versions: [{tag: base, endpoints: [\"192.0.2.9:8080\"]}, {tag: gray, file: {path: gray.json}}]}]\n")
	r := start(t, policyFile)
	owner := func(address string) string { return r.owners.At(netip.MustParseAddrPort(address)) }
	harness.WaitFor(t, "the file is read", func() bool { return owner("192.0.2.1:8080") == "users" })
	if got := owner("192.0.2.9:8080"); got != "users" {
		t.Errorf("the owner of a listed endpoint is %q, want users", got)
	}
	endpoint("192.0.2.2:8080")
	harness.WaitFor(t, "the file is read again", func() bool { return owner("192.0.2.2:8080") == "users" })
	if got := owner("192.0.2.1:8080"); got != "" {
		t.Errorf("the owner of an endpoint that has gone is %q, want none", got)
	}
}
