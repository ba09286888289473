package upstream

import (
	"fmt"
	"testing"
	"time"

	"graylane/internal/http1"
)

func TestEndpointWithoutPortKeepsTheCallers(t *testing.T) {
	for _, c := range []struct{ endpoint, authority, want string }{
		{"10.0.0.1:9000", "users:8080", "10.0.0.1:9000"},
		{"10.0.0.1", "users:8080", "10.0.0.1:8080"},
		{"10.0.0.1", "users", "10.0.0.1:80"},
		{"10.0.0.1", "users:", "10.0.0.1:80"},
		{"users-gray", "[fd00::1]:81", "users-gray:81"},
		{"users-gray", "[fd00::1]", "users-gray:80"},
		{"fd00::2", "users:81", "[fd00::2]:81"},
		{"[fd00::2]", "users:81", "[fd00::2]:81"},
		{"[fd00::2]:9000", "users:81", "[fd00::2]:9000"},
	} {
		ep := newEndpoint(c.endpoint, false, NewTable(http1.OriginConfig{}).rosterOf("users", "base"))
		if got := ep.Origin([]byte(c.authority)).Addr(); got != c.want {
			t.Errorf("%s called as %s: got %s, want %s", c.endpoint, c.authority, got, c.want)
		}
	}
}

func TestStrangerIsReachedOnItsPort(t *testing.T) {
	table := NewTable(http1.OriginConfig{})
	for authority, want := range map[string]string{
		"example.com":      "example.com:80",
		"example.com:":     "example.com:80",
		"example.com:8443": "example.com:8443",
		"[::1]":            "[::1]:80",
		"[::1]:81":         "[::1]:81",
	} {
		if got := table.Stranger([]byte(authority)).Addr(); got != want {
			t.Errorf("%s: got %s, want %s", authority, got, want)
		}
	}
}

func TestStrangerIsTheSameUntilForgotten(t *testing.T) {
	now := time.Unix(1000, 0)
	o := origins{now: func() time.Time { return now }}
	a := o.get([]byte("a:80"))
	if o.get([]byte("a:80")) != a {
		t.Error("asking again made another origin")
	}
	now = now.Add(forget + time.Second)
	o.get([]byte("b:80"))
	if o.get([]byte("a:80")) == a {
		t.Error("a stranger that nobody asked for was not forgotten")
	}
}

func TestStrangersAreBounded(t *testing.T) {
	now := time.Unix(1000, 0)
	o := origins{now: func() time.Time { return now }}
	for i := range 2 * maxOrigins {
		now = now.Add(time.Millisecond)
		o.get(fmt.Appendf(nil, "host-%d:80", i))
	}
	if got := len(o.known); got != maxOrigins {
		t.Errorf("got %d origins, want %d", got, maxOrigins)
	}
}
