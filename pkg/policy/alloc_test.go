//go:build !race

// The race detector makes sync.Pool drop what it holds at random, so that claims about allocations
// hold without it only.

package policy

import (
	"net/netip"
	"runtime/debug"
	"testing"
	"time"
)

func TestDecisionsAllocateNothing(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection empties the pool
	p := mustParse(t, shop+`
  - {name: wild, hosts: ["*.shop.svc"], versions: [{tag: base, endpoints: ["a:1"]}]}
  - {name: hashed, balance: {type: hash, by: {header: X-User-Id}}, versions: [{tag: base, endpoints: ["a:1"]}]}
`)
	all := mustParse(t, `
rules:
  - {name: path, tag: a, matches: [{method: POST, path: {value: /admin}}]}
  - {name: host, tag: a, matches: [{hosts: ["*.x.y"], headers: [{name: A, type: Suffix, value: z}]}]}
  - {name: regex, tag: a, matches: [{headers: [{name: X-User-Id, type: RegularExpression, value: "1+"}]}]}
  - {name: query, tag: a, matches: [{queryParams: [{name: q, type: Prefix, value: no}]}]}
  - {name: claim, tag: a, matches: [{jwtClaims: [{name: sub, value: "no"}]}]}
  - {name: not, tag: a, matches: [{sourceIPs: [10.0.0.0/8], not: {path: {type: Exact, value: "/"}}}]}
  - {name: ramp, tag: a, by: {clientIP: true}, ramp: {to: 0.01, start: 2026-01-01T00:00:00Z, over: 1h}}
  - {name: split, by: {header: X-User-Id}, split: [{tag: a, percent: 0}]}
`)
	headers := &header{{"X-User-Id", []byte("77")}}
	gray := &header{{"X-User-Id", []byte("2")}}
	token := &header{{"Authorization", []byte("Bearer e30.eyJzdWIiOiJ5ZXMiLCJhIjpbIngiXX0.c2ln")}}
	now := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	peer := netip.MustParseAddr("::ffff:10.1.2.3")
	plain, bearer := request(headers, peer, now), request(token, peer, now)
	users, hashed := p.ServiceNamed("users"), p.ServiceNamed("hashed")
	word, host, wild := []byte("gray"), []byte("Users.shop.svc.cluster.local.:8080"), []byte("a.b.shop.svc:80")

	for name, f := range map[string]func(){
		"Tag, a tester":    func() { p.Tag(&Request{Headers: gray, Now: now}) },
		"Tag, nobody":      func() { p.Tag(&Request{Headers: headers, Now: now}) },
		"Tag, each match":  func() { all.Tag(plain) },
		"Tag, a token":     func() { all.Tag(bearer) },
		"ServiceFor":       func() { p.ServiceFor(host) },
		"ServiceFor, wild": func() { p.ServiceFor(wild) },
		"Decide":           func() { users.Decide("gray") },
		"Key":              func() { p.Key(hashed, plain) },
		"Fall":             func() { users.Fall("gray") },
		"Trusts":           func() { p.Trusts(peer) },
		"Intern":           func() { p.Intern(word) },
		"Names":            func() { p.Names("gray") },
		"ValidTag":         func() { ValidTag(word) },
		"ServiceNamed":     func() { p.ServiceNamed("users") },
	} {
		if got := testing.AllocsPerRun(100, f); got != 0 {
			t.Errorf("%s: %v allocations, want 0", name, got)
		}
	}
}

func request(h Headers, peer netip.Addr, now time.Time) *Request {
	return &Request{
		Method: []byte("POST"), Host: []byte("a.x.y"), Path: []byte("/x/%2e./a//b"), Query: []byte("q=%41+b"),
		Peer: peer, Headers: h, Now: now,
	}
}
