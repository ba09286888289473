package mark_test

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"graylane/internal/mark"
	"graylane/internal/metrics"
	"graylane/internal/upstream"
	"graylane/pkg/policy"
	"graylane/pkg/propagate"
)

const rules = `
apiVersion: graylane.dev/v1
rules:
  - {name: testers, tag: by-rule, matches: [{headers: [{name: X-User-Id, value: "7"}]}]}
services:
  - {name: users, hosts: [users], versions: [{tag: base, endpoints: ["127.0.0.1:1"]}]}
`

// head is one with a line of each name.
type head map[string]string

func (h head) Get(name string) []byte {
	if value, ok := h[strings.ToLower(name)]; ok {
		return []byte(value)
	}
	return nil
}

func (h head) Values(dst [][]byte, name string) [][]byte {
	if value := h.Get(name); value != nil {
		return append(dst, value)
	}
	return dst
}

func (h head) Set(name string, value []byte) { h[strings.ToLower(name)] = string(value) }
func (h head) Del(name string)               { delete(h, strings.ToLower(name)) }
func (h head) DelAlike(name string)          { h.Del(name) }
func (h head) Method() []byte                { return []byte("GET") }
func (h head) Authority() []byte             { return []byte("users") }
func (h head) Path() []byte                  { return []byte("/") }
func (h head) Query() []byte                 { return nil }
func (h head) Connect() bool                 { return false }
func (h head) SetPath([]byte)                {}

// exchange has a head and a caller alone.
type exchange struct {
	upstream.Exchange
	head head
}

func (x exchange) Head() upstream.Head    { return x.head }
func (x exchange) Via() []byte            { return nil }
func (x exchange) Caller() netip.AddrPort { return netip.MustParseAddrPort("10.0.0.1:1") }

// TestTheLadder takes one source after the other away: the next one answers.
func TestTheLadder(t *testing.T) {
	const trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	ladder := []struct{ name, value, source, tag string }{
		{"x-gray", "by-header", "header", "by-header"},
		{"baggage", "x-gray=by-baggage", "baggage", "by-baggage"},
		{"tracestate", "graylane=by-tracestate", "tracestate", "by-tracestate"},
		{"traceparent", trace, "ledger", "by-ledger"},
		{"", "", "pod", "by-pod"}, // stands on no request
		{"x-user-id", "7", "rule", "by-rule"},
		{"", "", "base", "base"},
	}
	for _, c := range []struct {
		caller mark.Caller
		asked  []string
	}{
		{mark.App, []string{"header", "baggage", "tracestate", "ledger", "pod"}},
		{mark.Peer, []string{"header", "baggage", "tracestate", "ledger", "rule", "base"}},
		{mark.Stranger, []string{"rule", "base"}},
	} {
		for gone := range ladder {
			marker, ids := newMarker(t), new(propagate.IDs)
			marker.Carrier.IDs(head{"traceparent": trace}, ids)
			marker.Ledger.Put(time.Now(), ids, "by-ledger")
			h, want := head{}, ""
			for i, rung := range ladder {
				if i >= gone && rung.name != "" {
					h[rung.name] = rung.value
				}
			}
			for _, source := range c.asked {
				if rung := rungOf(source); rung >= gone || source == "pod" {
					want = source
					break
				}
			}
			got := find(t, marker, h, c.caller, rules)
			if got.Source.String() != want || got.Tag != ladder[rungOf(want)].tag {
				t.Errorf("caller %d, %v: got %s by %s, want %s", c.caller, h, got.Tag, got.Source, want)
			}
			if got := find(t, marker, h, c.caller, "enabled: false\n"+rules); got.Source != propagate.SourceOff || got.Tag != policy.Base {
				t.Errorf("switched off, caller %d, %v: got %s by %s, want base", c.caller, h, got.Tag, got.Source)
			}
		}
	}
}

// rungOf is where the source is in the ladder of the test, which is that of propagate.
func rungOf(source string) int {
	for _, s := range propagate.Sources() {
		if s.String() == source {
			return int(s)
		}
	}
	return -1
}

func newMarker(t *testing.T) *mark.Marker {
	t.Helper()
	carrier, err := propagate.New(propagate.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return &mark.Marker{Carrier: carrier, Ledger: propagate.NewLedger(100, time.Minute), Tag: "by-pod"}
}

// find gives the mark of a request with a copy of the head.
func find(t *testing.T, m *mark.Marker, h head, from mark.Caller, source string) propagate.Mark {
	t.Helper()
	p, err := policy.Parse("policy.yaml", []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	own := head{}
	for name, value := range h {
		own[name] = value
	}
	var r mark.Request
	r.Begin(exchange{head: own}, metrics.Inbound, p, time.Now())
	m.Find(&r, from)
	return r.Mark
}
