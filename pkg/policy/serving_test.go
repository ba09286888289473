package policy

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestServingIsCompiledAsWritten(t *testing.T) {
	p, err := Load("testdata/good/serving.yaml")
	if err != nil {
		t.Fatal(err)
	}
	got := *p.ServiceNamed("users")
	var sources []Source
	for _, v := range got.Versions {
		sources = append(sources, v.Source)
	}
	got.Versions = nil
	want := Service{
		Name: "users", Hosts: []string{"users"}, Fallback: true,
		Guard:   Guard{Action: "observe"},
		Balance: Balance{Type: "hash", Size: 3, NearShare: 0.7},
		Health: &Health{
			Type: "http", Path: "/health?deep=1", Expect: []int{200, 204},
			Interval: 5 * time.Second, Timeout: 2 * time.Second, HealthyAfter: 1, UnhealthyAfter: 2,
		},
		Limit:    Limit{Requests: 100, Wait: 50 * time.Millisecond},
		Timeouts: Timeouts{Connect: 500 * time.Millisecond, Header: -1, Idle: time.Hour},
		Retries:  0,
	}
	if diff := cmp.Diff(got, want, cmpopts.IgnoreUnexported(Service{}, Guard{}, Balance{})); diff != "" {
		t.Errorf("service (-got +want):\n%s", diff)
	}
	wantSources := []Source{
		{},
		{DNS: "users-gray.shop:8080"},
		{SRV: "_http._tcp.users-blue.shop.svc.cluster.local."},
		{File: "endpoints.json"},
		{File: "/run/registry.json", Labels: map[string]string{"tag": "red", "gone": ""}},
	}
	if diff := cmp.Diff(sources, wantSources); diff != "" {
		t.Errorf("sources (-got +want):\n%s", diff)
	}
}

func TestServingHasDefaults(t *testing.T) {
	p := mustParse(t, `
services:
  - name: users
    health: {}
    versions: [{tag: base, endpoints: []}]
`)
	got := *p.ServiceNamed("users")
	got.Versions = nil
	want := Service{
		Name: "users", Hosts: []string{"users"}, Fallback: true,
		Guard:   Guard{Action: "observe"},
		Balance: Balance{Type: "round-robin", Size: 3},
		Health: &Health{
			Type: "http", Path: "/health", Expect: []int{200},
			Interval: 10 * time.Second, Timeout: time.Second, HealthyAfter: 2, UnhealthyAfter: 3,
		},
		Limit:    Limit{Wait: 100 * time.Millisecond},
		Timeouts: Timeouts{Connect: time.Second, Header: time.Minute, Idle: 5 * time.Minute},
		Retries:  2,
	}
	if diff := cmp.Diff(got, want, cmpopts.IgnoreUnexported(Service{}, Guard{}, Balance{})); diff != "" {
		t.Errorf("service (-got +want):\n%s", diff)
	}
}

func TestKeyIsTheSameForTheSameValue(t *testing.T) {
	p := mustParse(t, `
services:
  - name: users
    balance: {type: hash, by: {header: X-User-Id}}
    versions: [{tag: base, endpoints: []}]
  - name: orders
    versions: [{tag: base, endpoints: []}]
`)
	users, orders := p.ServiceNamed("users"), p.ServiceNamed("orders")
	one, two := &Request{Headers: fields{"X-User-Id": "1"}}, &Request{Headers: fields{"X-User-Id": "2"}}
	a, ok := p.Key(users, one)
	b, _ := p.Key(users, one)
	other, _ := p.Key(users, two)
	if !ok || a != b || a == other {
		t.Errorf("keys of 1, 1 and 2: got %x, %x and %x", a, b, other)
	}
	if _, ok := p.Key(users, &Request{}); ok {
		t.Error("a request without the header has a key")
	}
	if _, ok := p.Key(orders, one); ok {
		t.Error("a service that is not balanced by hash has a key")
	}
}

func TestRoutes(t *testing.T) {
	p := mustParse(t, `
routes:
  - {path: /crs, service: users, stripPrefix: 1}
  - {path: /crs/v2/, service: orders, stripPrefix: 2}
  - {path: /plain, service: orders}
  - {path: /deep, service: orders, stripPrefix: 3}
services:
  - {name: users, versions: [{tag: base, endpoints: []}]}
  - {name: orders, versions: [{tag: base, endpoints: []}]}
`)
	for _, c := range []struct{ path, service, stripped string }{
		{"/crs", "users", "/"},
		{"/crs/", "users", "/"},
		{"/crs/1", "users", "/1"},
		{"/crs//1", "users", "//1"},
		{"/crs/a%2Fb", "users", "/a%2Fb"},
		{"/crs/v2", "orders", "/"},
		{"/crs/v2/a/b/", "orders", "/a/b/"},
		{"/crs/v22", "users", "/v22"},
		{"/crsx", "", ""},
		{"/CRS", "", ""},
		{"/", "", ""},
		{"*", "", ""},
		{"/plain/a", "orders", "/plain/a"},
		{"/plain/./%61", "orders", "/plain/./%61"},
		{"/deep/a/b/c", "orders", "/c"},
		{"/deep/a", "orders", "/"},
		{"/%63rs/1", "users", "/1"},
		{"/crs/a/../b", "users", "/a/../b"},
		{"/crs/../plain", "orders", "/crs/../plain"},
		{"/x/../crs/1", "users", "refused"},
		{"//crs/1", "users", "refused"},
		{"/crs/x/../../crs/1", "users", "refused"},
		{"/crs%2F1", "users", "refused"},
		{"/crs/..;/secret", "", ""},
		{"/x/..;a=b/crs/1", "users", "refused"},
		{"/crs%5C1", "users", "refused"},
	} {
		r := p.RouteFor([]byte(c.path))
		if r == nil {
			if c.service != "" {
				t.Errorf("%s has no route, want %s", c.path, c.service)
			}
			continue
		}
		stripped, ok := r.Stripped(nil, []byte(c.path))
		if !ok {
			stripped = []byte("refused")
		}
		if r.Service.Name != c.service || string(stripped) != c.stripped {
			t.Errorf("%s: got %s with %s, want %q with %s", c.path, r.Service.Name, stripped, c.service, c.stripped)
		}
	}
}

func TestARouteOfEverythingTakesWhatNoOtherDoes(t *testing.T) {
	p := mustParse(t, `
routes:
  - {path: /, service: users}
  - {path: /orders, service: orders}
services:
  - {name: users, versions: [{tag: base, endpoints: []}]}
  - {name: orders, versions: [{tag: base, endpoints: []}]}
`)
	for path, want := range map[string]string{"/": "users", "/a": "users", "/orders": "orders", "/orders/1": "orders"} {
		if got := p.RouteFor([]byte(path)); got == nil || got.Service.Name != want {
			t.Errorf("%s: got %v, want %s", path, got, want)
		}
	}
	if got := p.RouteFor([]byte("*")); got != nil {
		t.Errorf("OPTIONS *: got a route to %s, want none", got.Service.Name)
	}
}
