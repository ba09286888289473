//go:build !race

// The race detector makes sync.Pool drop what it holds at random, so that claims about allocations hold without it only.

package inbound_test

import (
	"net/netip"
	"strings"
	"testing"

	"graylane/internal/http1"
	"graylane/internal/upstream"
	"graylane/pkg/inbound"
	"graylane/test/harness"
)

const (
	okReply = "HTTP/1.1 200 OK\r\nDate: Mon, 30 Nov 2026 05:00:00 GMT\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok"
	usual   = "User-Agent: curl/8.5.0\r\nAccept: */*\r\nAccept-Encoding: gzip, deflate\r\nCookie: session=0123456789abcdef; theme=dark\r\n"
	traced  = "traceparent: " + parent + "\r\n"
)

func TestARequestAllocatesNothing(t *testing.T) {
	app := upstream.NewOrigin(harness.RawOrigin(t, okReply), http1.OriginConfig{})
	for _, c := range []struct{ name, policy, headers, tag string }{
		{"plain", trusting, "", "base"},
		{"tagged", trusting, "X-Gray: gray\r\nbaggage: a=1\r\ntracestate: b=2\r\n" + traced, "base"},
		{"tagged in baggage", trusting, "baggage: a=1,x-gray=gray\r\n", "base"},
		{"tagged in tracestate", trusting, traced + "tracestate: b=2,graylane=gray\r\n", "base"},
		{"traced", trusting, traced, "base"},
		{"traced by other ids", trusting, "b3: 4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-1\r\nsw8: 1-YWJj-YWJj-0-Zg==-aQ==-L2E=-Yjo4MA==\r\n", "base"},
		{"under a bad trace id", trusting, "traceparent: 00-0-0-0\r\ntracestate: graylane=gray\r\n", "base"},
		{"taken by a rule", trusting, "X-User-Id: 7\r\n", "base"},
		{"of a stranger", untrusting, "X-Gray: gray\r\n" + traced, "base"},
		{"at an edge", strings.Replace(trusting, "name: users,", "name: users, edge: true,", 1), "X-Gray: gray\r\n", "base"},
		{"switched off", off, "", "base"},
		{"undecided", "decide: first-match\n" + trusting, "", "base"},
		{"of another tag than the pod's", trusting, "X-Gray: base\r\n", "gray"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPod(t, c.policy, func(in *inbound.Inbound) {
				in.App, in.Marks.Tag = func(netip.AddrPort) *upstream.Origin { return app }, c.tag
			})
			address := strings.TrimPrefix(p.url, "http://")
			harness.WantNoAllocs(t, address, "GET /a/b?c=d HTTP/1.1\r\nHost: users\r\n"+usual+c.headers+"\r\n", okReply)
		})
	}
}
