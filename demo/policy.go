package main

import (
	"fmt"
	"os"
	"strings"
)

// The rules that the show puts in force, one after the other.
const (
	firstRules = `rules:
  - name: testers
    tag: gray
    matches:
      - headers: [{name: X-User-Id, values: ["1", "2", "3"]}]
`
	moreRules = firstRules + `  - name: friends
    tag: gray
    matches:
      - headers: [{name: X-User-Id, values: ["10", "11", "12"]}]
`
	switchedOff = "enabled: false\n" + moreRules
	broken      = "enabled: yes, please\n" + moreRules
)

// policy is the whole file with these rules in it.
func (s *shop) policy(rules string) string {
	return policyText(rules, func(service, tag string) string { return s.pod(service + "-" + tag).address(inboundPort) })
}

// policyText is a policy of the shop whose sidecars take calls where address says.
func policyText(rules string, address func(service, tag string) string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "apiVersion: graylane.dev/v1\n%sservices:\n", rules)
	for _, service := range services {
		fmt.Fprintf(&b, "  - name: %s\n    hosts: [%s]\n    health: {type: tcp, interval: 1s}\n    versions:\n", service, service)
		for _, tag := range []string{"base", "gray"} {
			fmt.Fprintf(&b, "      - {tag: %s, endpoints: [%q]}\n", tag, address(service, tag))
		}
	}
	return b.String()
}

// write puts a policy in force, sooner or later.
func (s *shop) write(text string) error { return replaceFile(s.policyPath(), text) }

// replaceFile replaces a file as an editor does: a new file beside it, renamed over it.
func replaceFile(path, text string) error {
	beside := path + "~"
	if err := os.WriteFile(beside, []byte(text), 0o644); err != nil {
		return fmt.Errorf("write the policy: %w", err)
	}
	if err := os.Rename(beside, path); err != nil {
		return fmt.Errorf("put the policy in place: %w", err)
	}
	return nil
}
