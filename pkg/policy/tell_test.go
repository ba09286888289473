package policy

import (
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestAPolicyTellsWhatItsRulesTake(t *testing.T) {
	p, err := Parse("policy.yaml", []byte(`apiVersion: graylane.dev/v1
trust: [10.0.0.0/8]
untrusted: [10.1.0.0/16]
rules:
  - name: testers
    tag: gray
    matches:
      - {method: GET, headers: [{name: X-User-Id, values: ["1", "2"]}]}
      - cookies: [{name: beta, type: Present}]
  - {name: some, tag: gray, percent: 5, by: {header: X-User-Id}, active: {from: 2026-01-01T00:00:00Z}}
  - {name: few, tag: blue, percent: 0.5}
  - {name: parts, split: [{tag: gray, percent: 5}, {tag: blue, percent: 5}], by: {clientIP: true}}
`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range p.Rules {
		got = append(got, p.Takes(r), p.Share(r, time.Now()))
	}
	want := []string{
		"method is GET and header X-User-Id is 1 or 2, or cookie beta is there", "",
		"every request, but from 2026-01-01T00:00:00Z", "share 5 % by header X-User-Id",
		"every request", "share 0.5 % at random",
		"every request", "parts gray 5 %, blue 5 % by client IP",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
	trust, untrusted := p.Trust()
	if len(trust) != 1 || trust[0] != netip.MustParsePrefix("10.0.0.0/8") || len(untrusted) != 1 || untrusted[0] != netip.MustParsePrefix("10.1.0.0/16") {
		t.Errorf("trust %v but %v, want 10.0.0.0/8 but 10.1.0.0/16", trust, untrusted)
	}
}
