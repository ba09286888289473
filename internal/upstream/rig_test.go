package upstream

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"graylane/internal/http1"
)

// rig is a table with a clock and a chance of its own.
type rig struct {
	*Table
	clock time.Time
}

func newRig() *rig {
	r := &rig{Table: NewTable(http1.OriginConfig{}), clock: at(0)}
	r.now = func() time.Time { return r.clock }
	r.rand = rand.New(rand.NewPCG(1, 2)).Uint64
	return r
}

// put makes a generation of these versions and puts it in use.
func (r *rig) put(versions ...Version) []*Group {
	next := r.Begin()
	var groups []*Group
	for _, v := range versions {
		groups = append(groups, next.Group(v))
	}
	next.Commit()
	return groups
}

func (r *rig) pass(d time.Duration) { r.clock = r.clock.Add(d) }

// users is a version of the service users with endpoints of weight 1.
func users(tag string, addresses ...string) Version {
	v := Version{Service: "users", Tag: tag, Base: tag == "base", Retries: 2}
	for _, address := range addresses {
		v.Targets = append(v.Targets, Target{Address: address, Weight: 1})
	}
	return v
}

var (
	errRefused = &http1.Error{Op: "connect", Reason: http1.ConnectRefused, Retryable: true}
	errClosed  = &http1.Error{Op: "receive", Reason: http1.OriginClosed}
	errGone    = &http1.Error{Op: "relay", Reason: http1.CallerGone}
)

// ask sends one request to the group and returns where it went, "none" if there
// was nowhere. The reply is what reply returns for the address: an error, or a
// status.
func (r *rig) ask(g *Group, reply func(address string) any) string {
	pick := g.Pick(r.rand())
	ep := pick.Next(r.clock)
	if ep == nil {
		return "none"
	}
	result := Result{Now: r.clock, Status: 200}
	switch what := reply(ep.Address).(type) {
	case error:
		result.Status, result.Err = 0, what
	case int:
		result.Status = what
	}
	pick.End(result)
	return ep.Address
}

func well(string) any { return 200 }

// only answers so at one address and well at all others.
func only(address string, what any) func(string) any {
	return func(a string) any {
		if a == address {
			return what
		}
		return 200
	}
}

// count sends n requests and returns where they went.
func (r *rig) count(g *Group, n int, reply func(string) any) map[string]int {
	got := make(map[string]int)
	for range n {
		got[r.ask(g, reply)]++
	}
	return got
}

// fail makes an endpoint of the group fail until it is out.
func (r *rig) fail(t *testing.T, g *Group, address string) {
	t.Helper()
	for range r.breaking.failures {
		r.endpoint(t, g, address).report(r.clock, r.clock, bad, "answered 503")
	}
}

func (r *rig) endpoint(t *testing.T, g *Group, address string) *Endpoint {
	t.Helper()
	g.roster.mu.Lock()
	defer g.roster.mu.Unlock()
	ep := g.roster.endpoints[address]
	if ep == nil {
		t.Fatalf("there is no endpoint %s", address)
	}
	return ep
}

// underWay makes the endpoint have so many requests.
func underWay(ep *Endpoint, n int) {
	for ep.load.inFlight() > 0 {
		ep.load.end()
	}
	for range n {
		ep.load.begin(0)
	}
}

// states gives the state of each address.
func (r *rig) states() map[string]string {
	got := make(map[string]string)
	for _, s := range r.Status() {
		got[s.Address] = s.State
	}
	return got
}

// fits reports whether counts may come from these parts, by a chi-squared test
// that is wrong once in a thousand times, if chance is not seeded.
func fits(got map[string]int, parts map[string]float64) bool {
	total, sum, chi := 0, 0.0, 0.0
	for _, n := range got {
		total += n
	}
	for _, part := range parts {
		sum += part
	}
	for name := range got {
		if parts[name] == 0 {
			return false
		}
	}
	for name, part := range parts {
		want := float64(total) * part / sum
		chi += (float64(got[name]) - want) * (float64(got[name]) - want) / want
	}
	// The 99.9 % points for 1 to 9 degrees of freedom.
	return chi <= [...]float64{10.8, 13.8, 16.3, 18.5, 20.5, 22.5, 24.3, 26.1, 27.9}[max(len(parts)-2, 0)]
}

var errAny = errors.New("any")
