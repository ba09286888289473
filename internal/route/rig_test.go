package route_test

import (
	"cmp"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"graylane/internal/http1"
	"graylane/internal/mark"
	"graylane/internal/metrics"
	"graylane/internal/route"
	"graylane/internal/upstream"
	"graylane/pkg/policy"
)

// rig is a service with two endpoints of base and of gray, and one of blue, whose
// version empty has lost its endpoints, and whose version unbound was published too
// early. An endpoint's host is the tag of its version.
type rig struct {
	policy *policy.Policy
	table  *upstream.Table
	groups map[string]*upstream.Group // by tag
}

func newRig(t *testing.T, keys string) *rig {
	t.Helper()
	compiled, err := policy.Parse("policy.yaml", []byte(`
apiVersion: graylane.dev/v1
services:
  - name: users
    versions:
      - {tag: base, endpoints: ["base:1", "base:2"]}
      - {tag: gray, endpoints: ["gray:1", "gray:2"]}
      - {tag: blue, endpoints: ["blue:1"]}
      - {tag: empty, endpoints: []}
      - {tag: unbound, endpoints: ["unbound:1"]}
`+keys))
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{policy: compiled, table: upstream.NewTable(http1.OriginConfig{}), groups: make(map[string]*upstream.Group)}
	next := r.table.Begin()
	compiled.Bind(func(v *policy.Version) policy.Backend {
		if v.Tag == "unbound" {
			return nil
		}
		version := upstream.Version{
			Service: v.Service.Name, Tag: v.Tag, Base: v.Tag == policy.Base,
			Retries: v.Service.Retries, Limit: upstream.Limit(v.Service.Limit),
		}
		for _, target := range v.Endpoints {
			version.Targets = append(version.Targets, upstream.Target(target))
		}
		r.groups[v.Tag] = next.Group(version)
		return r.groups[v.Tag]
	})
	next.Commit()
	return r
}

// occupy has n requests under way to a version.
func (r *rig) occupy(t *testing.T, tag string, n int) {
	t.Helper()
	for range n {
		if pick := r.groups[tag].Pick(0); pick.Next(time.Now()) == nil {
			t.Fatalf("there is no room for %d requests", n)
		}
	}
}

// walk is where a request went, what its caller got, and the record of it.
type walk struct {
	to, got, reason, err string
	fallback             bool
}

// send sends a request to the version with the tag, if there is one, whatever else is
// known of it.
func (r *rig) send(t *testing.T, tag string, x *exchange) walk {
	t.Helper()
	service := r.policy.ServiceNamed("users")
	d := policy.Decision{Reason: policy.Matched}
	for _, v := range service.Versions {
		if v.Tag == tag {
			d.Version = v
		}
	}
	var request mark.Request
	request.Begin(x, metrics.Outbound, r.policy, time.Now())
	route.Send(&request, route.Way{Service: service}, d)
	record := &request.Record
	if host, _, _ := strings.Cut(x.last, ":"); record.Endpoint != x.last || record.Version != host && host != "" {
		t.Errorf("the record says %s of version %s, want %s", record.Endpoint, record.Version, x.last)
	}
	return walk{to: strings.Join(x.to, " "), got: x.got, reason: record.Reason, err: record.Error, fallback: record.Fallback}
}

// exchange is a request whose tries end as they are to.
type exchange struct {
	upstream.Exchange
	tries   []error // nil: the reply came; where there are no more as well
	status  int     // of the reply; 0: 200
	waited  time.Duration
	leaving bool
	gone    chan struct{}
	connect bool
	via     []byte

	to      []string // the versions that were tried
	last    string   // the endpoint that was tried last
	replied int
	got     string // the status, and the reason of an answer of ours
	text    string // of an answer of ours
}

func (x *exchange) Head() upstream.Head    { return head{connect: x.connect} }
func (x *exchange) Caller() netip.AddrPort { return netip.AddrPort{} }
func (x *exchange) Via() []byte            { return x.via }
func (x *exchange) Waited() time.Duration  { return x.waited }
func (x *exchange) Leaving() bool          { return x.leaving }
func (x *exchange) Gone() <-chan struct{}  { return x.gone }
func (x *exchange) Status() int            { return x.replied }

func (x *exchange) Send(o *upstream.Origin) error   { return x.try("", o) }
func (x *exchange) Tunnel(o *upstream.Origin) error { return x.try("tunnel:", o) }

func (x *exchange) try(how string, o *upstream.Origin) error {
	x.last = o.Addr()
	tag, _, _ := strings.Cut(x.last, ":")
	x.to = append(x.to, how+tag)
	if n := len(x.to); n <= len(x.tries) && x.tries[n-1] != nil {
		return x.tries[n-1]
	}
	x.replied = cmp.Or(x.status, 200)
	x.got = fmt.Sprint(x.replied)
	return nil
}

func (x *exchange) Reply(status int, reason, text string) {
	x.replied, x.got, x.text = status, fmt.Sprintf("%d %s", status, reason), text
}

func (x *exchange) Fail(err error) {
	status, reason := http1.Status(err)
	x.Reply(status, reason, err.Error())
}

// head is that of a request, of which nothing else matters here.
type head struct {
	upstream.Head
	connect bool
}

func (head) Method() []byte    { return []byte("GET") }
func (head) Authority() []byte { return []byte("users") }
func (head) Path() []byte      { return []byte("/") }
func (h head) Connect() bool   { return h.connect }
