//go:build !race

// The race detector makes sync.Pool drop what it holds at random, so that claims about allocations hold without it only.

package outbound_test

import (
	"fmt"
	"net/netip"
	"testing"

	"graylane/pkg/outbound"
	"graylane/test/harness"
)

// A tag that the policy does not name at all costs a string of its own; all others are here.
func TestARequestAllocatesNothing(t *testing.T) {
	stranger := harness.RawOrigin(t, okReply)
	shop := balancedShop(t)
	for _, c := range []struct {
		name, policy, url, headers string
		options                    []func(*outbound.Outbound)
	}{
		{"plain", shop, "http://round-robin/a/b?c=d", "", nil},
		{"tagged", shop, "http://round-robin/", "X-Gray: gray\r\nbaggage: a=1\r\ntracestate: b=2\r\n" + traced, nil},
		{"tagged in baggage", shop, "http://round-robin/", "baggage: a=1,x-gray=gray\r\n", nil},
		{"traced", shop, "http://round-robin/", traced, nil},
		{"traced by other ids", shop, "http://round-robin/", "b3: 4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-1\r\nsw8: 1-YWJj-YWJj-0-Zg==-aQ==-L2E=-Yjo4MA==\r\n", nil},
		{"taken by a rule", shop, "http://round-robin/", "X-User-Id: 7\r\n", nil},
		{"of a gray pod", shop, "http://round-robin/", "", []func(*outbound.Outbound){ofGray}},
		{"falls back", shop, "http://round-robin/", "X-Gray: blue\r\n", nil},
		{"at random", shop, "http://random/", "", nil},
		{"to the least busy", shop, "http://least-request/", "", nil},
		{"to the quickest", shop, "http://response-time/", "", nil},
		{"in bursts", shop, "http://burst/", "", nil},
		{"by a key", shop, "http://hash/", "X-User-Id: 9\r\n", nil},
		{"without the key", shop, "http://hash/", "", nil},
		{"to a stranger", shop, "http://" + stranger + "/", "X-Gray: gray\r\nbaggage: a=1,x-gray=gray\r\n" + traced, nil},
		{"to a service without versions", shop + "  - {name: marked, hosts: [" + stranger + "]}\n", "http://" + stranger + "/", "", nil},
		{"switched off", "enabled: false\n" + shop, "http://round-robin/", "", nil},
		{"undecided", "decide: first-match\n" + shop, "http://round-robin/", "", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPod(t, c.policy, c.options...)
			harness.WantNoAllocs(t, serve(t, p.Outbound), "GET "+c.url+" HTTP/1.1\r\nHost: any\r\n"+usual+c.headers+"\r\n", okReply)
		})
	}
}

func TestARedirectedRequestAllocatesNothing(t *testing.T) {
	stranger := netip.MustParseAddrPort(harness.RawOrigin(t, okReply))
	ours := netip.MustParseAddrPort("10.9.8.7:80")
	owner := func(dst netip.AddrPort) string {
		if dst == ours {
			return "round-robin"
		}
		return ""
	}
	p := newPod(t, balancedShop(t), func(o *outbound.Outbound) { o.Owner = owner })
	for _, c := range []struct {
		name, host string
		dst        netip.AddrPort
	}{
		{"to a service by its address", "any", ours},
		{"to a service by its host", "round-robin", netip.MustParseAddrPort("10.9.8.6:80")},
		{"to a stranger", "any", stranger},
	} {
		t.Run(c.name, func(t *testing.T) {
			harness.WantNoAllocs(t, serveTo(t, p.Outbound, c.dst), "GET /a/b?c=d HTTP/1.1\r\nHost: "+c.host+"\r\n"+usual+traced+"\r\n", okReply)
		})
	}
}

func TestARequestThroughTheGatewayAllocatesNothing(t *testing.T) {
	p := newPod(t, balancedShop(t)+"routes: [{path: /strip, service: hash, stripPrefix: 1}, {path: /, service: round-robin}]\n")
	for _, c := range []struct{ name, path, headers string }{
		{"plain", "/a/b?c=d", ""},
		{"traced", "/a/b?c=d", traced},
		{"its prefix stripped", "/strip/b?c=d", "X-User-Id: 7\r\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			harness.WantNoAllocs(t, gatewayOf(t, p), "GET "+c.path+" HTTP/1.1\r\nHost: shop\r\n"+usual+c.headers+"\r\n", okReply)
		})
	}
}

// balancedShop has a service for each way to balance, of its name, with two endpoints of base and one of gray.
func balancedShop(t *testing.T) string {
	t.Helper()
	text := `
apiVersion: graylane.dev/v1
rules:
  - {name: testers, tag: gray, matches: [{headers: [{name: X-User-Id, value: "7"}]}, {cookies: [{name: gray, value: "1"}]}]}
  - {name: others, tag: blue, matches: [{headers: [{name: X-User-Id, value: "8"}]}]}
  - {name: share, tag: gray, percent: 50, by: {traceID: true}}
services:
`
	one, two, gray := harness.RawOrigin(t, okReply), harness.RawOrigin(t, okReply), harness.RawOrigin(t, okReply)
	for _, kind := range []string{"round-robin", "random", "least-request", "response-time", "burst", "hash"} {
		balance := kind
		if kind == "hash" {
			balance = "hash, by: {header: X-User-Id}"
		}
		text += fmt.Sprintf("  - {name: %s, balance: {type: %s}, versions: [{tag: base, endpoints: [%q, %q]}, {tag: gray, endpoints: [%q]}]}\n",
			kind, balance, one, two, gray)
	}
	return text
}
