package policy

import (
	"strings"
	"testing"
)

func TestProtocolOfAVersion(t *testing.T) {
	const text = "apiVersion: graylane.dev/v1\nservices:\n  - {name: users, versions: [{tag: base, endpoints: [\"a:1\"]}, {tag: gray, endpoints: [\"b:1\"], protocol: WHAT}]}\n"
	for what, want := range map[string]bool{"http1": false, "h2c": true} {
		p, err := Parse("policy.yaml", []byte(strings.Replace(text, "WHAT", what, 1)))
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range p.Services[0].Versions {
			if got := v.H2C; got != (want && v.Tag == "gray") {
				t.Errorf("protocol: %s: H2C of %s is %v", what, v.Tag, got)
			}
		}
	}
	_, err := Parse("policy.yaml", []byte(strings.Replace(text, "WHAT", "h2", 1)))
	if err == nil || !strings.Contains(err.Error(), "h2c") {
		t.Errorf("protocol: h2: got %v, want a fault that names h2c", err)
	}
}
