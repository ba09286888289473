package relay

import (
	"fmt"
	"strings"
	"testing"

	"graylane/test/harness"
)

// A request allocates nothing, in neither sidecar, once everything has been made that requests share.
func TestRequestsAllocateNothing(t *testing.T) {
	if harness.RaceEnabled {
		t.Log("the race detector makes sync.Pool forget things: what is counted means nothing")
		return
	}
	const (
		many = 2000
		most = 0.5 // a request: the runtime allocates now and then, and so do timers of the sidecar
	)
	c := newChain(t, `
rules:
  - {name: testers, tag: gray, matches: [{headers: [{name: X-User-Id, value: "7"}]}]}
  - {name: some, tag: gray, percent: 50, by: {header: X-User-Id}}
`)
	for _, size := range []int{0, 1 << 10, 64 << 10} {
		for name, request := range map[string]string{
			"undecided": "GET / HTTP/1.1⏎Host: shop⏎X-User-Id: 8⏎⏎",
			"decided":   "GET / HTTP/1.1⏎Host: shop⏎X-Gray: gray⏎traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01⏎⏎",
			"posted":    "POST / HTTP/1.1⏎Host: shop⏎Content-Length: " + decimal(int64(size)) + "⏎⏎" + strings.Repeat("b", size),
		} {
			t.Run(name+" "+decimal(int64(size)), func(t *testing.T) {
				reply := "HTTP/1.1 200 OK⏎Content-Length: " + decimal(int64(size)) + "⏎⏎" + strings.Repeat("a", size)
				c.origin.plays(t, always(reply))
				p := c.dial(t)
				exchange := func(n int) {
					for range n {
						p.say(request)
						if got := p.reply("GET"); len(got) != len(reply) {
							t.Fatalf("got %d bytes, want %d", len(got), len(reply))
						}
					}
				}
				exchange(200)
				sidecars := []*harness.Sidecar{c.near, c.far}
				var before, counting [2]float64
				for i, s := range sidecars {
					before[i] = allocations(t, s)
					counting[i] = allocations(t, s) - before[i]
				}
				exchange(many)
				for i, s := range sidecars {
					each := (allocations(t, s) - before[i] - 2*counting[i]) / many
					t.Logf("%s: %.3f allocations a request; a count takes %.0f", s.Name, each, counting[i])
					if each > most {
						t.Errorf("%s allocates %.3f times a request, want none", s.Name, each)
					}
				}
			})
		}
	}
}

// allocations is how often a sidecar has allocated. The page reads it exactly, unlike metrics do.
func allocations(t testing.TB, s *harness.Sidecar) float64 {
	t.Helper()
	_, page := harness.Page("http://" + s.Admin + "/debug/pprof/heap?debug=1")
	_, rest, _ := strings.Cut(page, "\n# Mallocs = ")
	var n float64
	if _, err := fmt.Sscan(rest, &n); err != nil {
		t.Fatalf("%v in %.300q", err, page)
	}
	return n
}
