package policy

import (
	"strings"
	"testing"
)

// An endpoint that says nothing has the protocol of its version.
func TestProtocolOfVersionsAndEndpoints(t *testing.T) {
	const text = `apiVersion: graylane.dev/v1
services:
  - name: users
    versions:
      - {tag: base, endpoints: ["a:1", {address: "a:2", protocol: h2c}]}
      - {tag: gray, protocol: WHAT, endpoints: ["b:1", {address: "b:2", protocol: http1}, {address: "b:3", protocol: h2c}]}
`
	for what, want := range map[string]string{
		"http1": "http1 http1 h2c, http1 http1 http1 h2c",
		"h2c":   "http1 http1 h2c, h2c h2c http1 h2c",
	} {
		p, err := Parse("policy.yaml", []byte(strings.Replace(text, "WHAT", what, 1)))
		if err != nil {
			t.Fatal(err)
		}
		var versions []string
		for _, v := range p.Services[0].Versions {
			protocols := v.Protocol
			for _, target := range v.Endpoints {
				protocols += " " + target.Protocol
			}
			versions = append(versions, protocols)
		}
		if got := strings.Join(versions, ", "); got != want {
			t.Errorf("protocol: %s: got %s, want %s", what, got, want)
		}
	}
	for _, fault := range []string{
		strings.Replace(text, "WHAT", "h2", 1),
		strings.Replace(strings.Replace(text, "WHAT", "h2c", 1), "protocol: http1", "protocol: grpc", 1),
	} {
		if _, err := Parse("policy.yaml", []byte(fault)); err == nil || !strings.Contains(err.Error(), "h2c") {
			t.Errorf("got %v, want a fault that names h2c", err)
		}
	}
}
