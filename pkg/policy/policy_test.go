package policy

import (
	"net/netip"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fields is the header of a test request.
type fields map[string]string

func (f fields) Get(name string) []byte {
	for key, value := range f {
		if strings.EqualFold(key, name) {
			return []byte(value)
		}
	}
	return nil
}

func (f fields) Values(dst [][]byte, name string) [][]byte {
	if value := f.Get(name); value != nil {
		return append(dst, value)
	}
	return dst
}

// header is a header that does not allocate.
type header [1]struct {
	name  string
	value []byte
}

func (h *header) Get(name string) []byte {
	if h[0].name == name {
		return h[0].value
	}
	return nil
}

func (h *header) Values(dst [][]byte, name string) [][]byte {
	if value := h.Get(name); value != nil {
		return append(dst, value)
	}
	return dst
}

// cookieLines is a header of Cookie lines.
type cookieLines []string

func (c cookieLines) Get(string) []byte { return []byte(c[0]) }

func (c cookieLines) Values(dst [][]byte, _ string) [][]byte {
	for _, line := range c {
		dst = append(dst, []byte(line))
	}
	return dst
}

func TestACookieMayStandInAnyCookieLine(t *testing.T) {
	p := mustParse(t, "rules: [{name: r, tag: gray, matches: [{cookies: [{name: gray, value: \"1\"}]}]}]")
	if tag, _ := p.Tag(&Request{Headers: cookieLines{"a=b", "c=d; gray=1"}}); tag != Gray {
		t.Errorf("tag %s, want gray", tag)
	}
	if tag, _ := p.Tag(&Request{Headers: cookieLines{"gray=2", "gray=1"}}); tag != Base {
		t.Errorf("tag %s, want base: the first cookie of a name counts", tag)
	}
}

// parse compiles the text of a policy, to which it adds the API version.
func mustParse(t testing.TB, text string) *Policy {
	t.Helper()
	p, err := Parse("policy.yaml", []byte("apiVersion: graylane.dev/v1\n"+text))
	if err != nil {
		t.Fatalf("policy:\n%v", err)
	}
	return p
}

const shop = `
rules:
  - name: testers
    tag: gray
    matches:
      - headers: [{name: X-User-Id, values: ["1", "2", "3"]}]
      - queryParams: [{name: gray, value: "true"}]
      - cookies: [{name: gray, value: "1"}]
  - name: five-percent
    tag: gray
    percent: 5
    by: {header: X-User-Id}
services:
  - name: users
    hosts: [users, users.shop.svc.cluster.local]
    versions:
      - {tag: base, endpoints: ["127.0.0.1:9001", "127.0.0.1:9003", "127.0.0.1:9004"]}
      - {tag: gray, endpoints: ["127.0.0.1:9002"]}
`

func TestTrustsPrivatePeersByDefault(t *testing.T) {
	p := mustParse(t, "")
	for _, peer := range []string{
		"127.0.0.1", "127.255.0.1", "::1", "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.9.9",
		"100.64.0.1", "fd00::1", "::ffff:10.1.2.3",
	} {
		if !p.Trusts(netip.MustParseAddr(peer)) {
			t.Errorf("peer %s is not trusted by default", peer)
		}
	}
	for _, peer := range []string{"8.8.8.8", "172.32.0.1", "100.63.0.1", "2001:db8::1", "::ffff:8.8.8.8", "fe80::1"} {
		if p.Trusts(netip.MustParseAddr(peer)) {
			t.Errorf("peer %s is trusted by default", peer)
		}
	}
	if p.Trusts(netip.Addr{}) {
		t.Error("an unknown peer is trusted")
	}
}

func TestUntrustedWinsOverTrust(t *testing.T) {
	p := mustParse(t, "trust: [10.0.0.0/8, 192.168.7.7]\nuntrusted: [10.9.0.0/16]")
	for peer, want := range map[string]bool{
		"10.1.1.1": true, "10.9.1.1": false, "::ffff:10.9.1.1": false, "192.168.7.7": true, "192.168.7.8": false, "127.0.0.1": false,
	} {
		if got := p.Trusts(netip.MustParseAddr(peer)); got != want {
			t.Errorf("peer %s trusted: %v, want %v", peer, got, want)
		}
	}
}

func TestAnEmptyTrustBelievesNobody(t *testing.T) {
	p := mustParse(t, "trust: []")
	if p.Trusts(netip.MustParseAddr("127.0.0.1")) {
		t.Error("loopback is trusted though trust is empty")
	}
}

func TestAPolicyKnowsItsTagsAndWhatTheHeaderSaysForThem(t *testing.T) {
	p := mustParse(t, `
headerValues: {gray: "yes", base: "no", blue: blue}
rules: [{name: r, tag: pr-142}, {name: s, split: [{tag: blue, percent: 1}]}]
services: [{name: s, versions: [{tag: green, endpoints: []}]}]
`)
	for tag, want := range map[string]bool{
		"base": true, "gray": true, "pr-142": true, "blue": true, "green": true,
		"true": false, "1": false, "yes": false, "no": false, "red": false, "GRAY": false, "": false,
	} {
		if got := p.Names(tag); got != want {
			t.Errorf("policy names tag %q: %v, want %v", tag, got, want)
		}
		if shared, ok := p.Intern([]byte(tag)); ok != want || ok && shared != tag {
			t.Errorf("tag %q is %q, %v, want it shared: %v", tag, shared, ok, want)
		}
	}
	words := map[string]string{"true": "gray", "1": "gray", "yes": "gray", "false": "base", "0": "base", "no": "base"}
	if diff := cmp.Diff(words, p.HeaderWords); diff != "" {
		t.Errorf("words (-want +got):\n%s", diff)
	}
}

func TestValidTag(t *testing.T) {
	for _, tag := range []string{"a", "gray", "pr-142", "00", strings.Repeat("a", 63)} {
		if !ValidTag(tag) || !ValidTag([]byte(tag)) {
			t.Errorf("tag %q is refused", tag)
		}
	}
	for _, tag := range []string{"", "-a", "a-", "A", "a_b", "a.b", "a b", "a\r\n", "ä", strings.Repeat("a", 64), "true", "1", "false", "0"} {
		if ValidTag(tag) || ValidTag([]byte(tag)) {
			t.Errorf("tag %q is accepted", tag)
		}
	}
}

func TestTheFirstRuleThatTakesTheRequestWins(t *testing.T) {
	p := mustParse(t, `
rules:
  - {name: keep, tag: base, matches: [{headers: [{name: X-Team, value: core}]}]}
  - {name: blue, tag: blue, matches: [{headers: [{name: X-Lane, value: blue}]}]}
  - {name: any-lane, tag: gray, matches: [{headers: [{name: X-Lane, type: Present}]}]}
`)
	for _, test := range []struct {
		headers   fields
		tag, rule string
	}{
		{fields{"X-Lane": "blue"}, "blue", "blue"},
		{fields{"x-lane": "green"}, "gray", "any-lane"},
		{fields{"X-Lane": "blue", "X-Team": "core"}, "base", "keep"},
		{fields{"X-Team": "other"}, "base", ""},
		{nil, "base", ""},
	} {
		tag, rule := p.Tag(&Request{Headers: test.headers})
		name := ""
		if rule != nil {
			name = rule.Name
		}
		if tag != test.tag || name != test.rule {
			t.Errorf("%v: tag %q by rule %q, want %q by %q", test.headers, tag, name, test.tag, test.rule)
		}
	}
}

func TestASwitchedOffPolicyMarksEverythingBase(t *testing.T) {
	p := mustParse(t, "enabled: false\nrules: [{name: all, tag: gray}]")
	if tag, rule := p.Tag(&Request{}); tag != Base || rule != nil {
		t.Errorf("tag %q by %v, want base by no rule", tag, rule)
	}
}

func TestTheDigestIsThatOfTheFile(t *testing.T) {
	p, err := Parse("policy.yaml", []byte("apiVersion: graylane.dev/v1\n"))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := p.Digest, "1283947d0af5"; got != want {
		t.Errorf("digest %s, want %s", got, want)
	}
}

func TestBindReachesEveryVersion(t *testing.T) {
	p := mustParse(t, shop)
	var bound []string
	p.Bind(func(v *Version) Backend {
		bound = append(bound, v.Service.Name+" "+v.Tag)
		return backend{1, 1}
	})
	if diff := cmp.Diff([]string{"users base", "users gray"}, bound); diff != "" {
		t.Error(diff)
	}
	if v := p.ServiceNamed("users").Versions[0]; v.Backend != (backend{1, 1}) {
		t.Errorf("backend of %s is %v", v.Tag, v.Backend)
	}
}

// Requests that run while policies change see one policy each: here all tags
// of a policy are its generation.
func TestNoRequestSeesTwoPolicies(t *testing.T) {
	const generations = 200
	var policies []*Policy
	for i := range generations {
		tag := "g" + strings.Repeat("x", i%7) + string(rune('a'+i%26))
		policies = append(policies, mustParse(t, `
rules: [{name: all, tag: `+tag+`}]
services: [{name: users, versions: [{tag: `+tag+`, endpoints: ["127.0.0.1:1"]}]}]`))
	}
	var store Store
	store.Replace(policies[0])
	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				p := store.Load()
				tag, _ := p.Tag(&Request{})
				s := p.ServiceFor([]byte("users"))
				if d := s.Decide(tag); d.Reason != Matched || d.Version.Tag != tag {
					t.Errorf("tag %s is served by %v, %v", tag, d.Version, d.Reason)
					return
				}
			}
		})
	}
	for range 5 {
		for _, p := range policies {
			store.Replace(p)
		}
	}
	close(done)
	readers.Wait()
}
