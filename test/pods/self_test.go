package pods_test

import (
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"

	"graylane/test/harness"
)

func TestAPodThatCallsItself(t *testing.T) {
	s := newShop(t, ordersAddr, usersAddr)
	policy := s.policyFor(address4)
	s.write(t, policy)
	s.ready(t, policy, s.pods()...)
	for _, c := range []struct {
		name, url string
		want      string
	}{
		{"by its address", "http://" + s.users.addr + ":8080/", "users-base"},
		{"by its IPv6 address", "http://[" + s.users.addr6 + "]:8080/", "users-base"},
		{"by its service", "http://users/", "users-base"},
		{"by its service's IPv6 address", "http://[" + usersAddr6 + "]/", "users-base"},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := passes(t, s)
			query := url.Values{"url": {c.url}}
			status, got := s.get(t, s.client, 0, "http://"+s.users.addr+":8080/call?"+query.Encode())
			if status != http.StatusOK || got != c.want {
				t.Errorf("got %d %q, want 200 %q", status, got, c.want)
			}
			after := passes(t, s)
			// One came in from us; the app's call to itself went out once, and in again once at most.
			if out := after.out - before.out; out != 1 {
				t.Errorf("the call went out %v times, want once", out)
			}
			if in := after.in - before.in - 1; in > 1 {
				t.Errorf("the call came in %v times, want once at most", in)
			}
		})
	}
}

type passed struct{ in, out float64 }

func passes(t *testing.T, s *shop) passed {
	t.Helper()
	const requests = "graylane_requests_total"
	return passed{
		in:  s.users.metric(t, s.cluster, requests, `direction="inbound"`),
		out: s.users.metric(t, s.cluster, requests, `direction="outbound"`),
	}
}

func TestCallsThatComeBackAreRefusedAtOnce(t *testing.T) {
	c := newCluster(t)
	// The rules leave another user's calls alone than the sidecar's: all that it sends comes back to it.
	p := c.start(t, "users-base", podConfig{service: "users", tag: "base", redirect: []string{"--uid", "1400"}})
	c.write(t, plainPolicy)
	c.ready(t, plainPolicy, p)
	serveIn(t, c.client, ":80", func(conn *net.TCPConn) { t.Error("the loop has let a call through") })

	status, body := c.get(t, p.Space, appUser, "http://"+clientAddr+"/")
	if status/100 != 5 {
		t.Errorf("got %d %q, want an error", status, body)
	}
	conn, err := p.Dial(t, appUser, clientAddr+":80")
	if err == nil {
		send(t, conn, "\x00binary")
		_, err = conn.Read(make([]byte, 1))
	}
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("got %v, want a reset", err)
	}
	harness.WaitFor(t, "the sidecar says why", func() bool {
		return strings.Contains(p.sidecar.Log.String(), "leads back to this sidecar")
	})
	if n := strings.Count(p.sidecar.Log.String(), "leads back to this sidecar"); n > 10 {
		t.Errorf("got %d lines of it, want one for each attempt", n)
	}
}

func TestThePortsOfTheSidecarAreNoWayRound(t *testing.T) {
	c := newCluster(t)
	p := c.start(t, "users-base", podConfig{service: "users", tag: "base"})
	c.write(t, plainPolicy)
	c.ready(t, plainPolicy, p)
	for _, addr := range []string{p.addr + ":15001", p.addr + ":15000"} {
		if conn, err := c.client.Dial(t, 0, addr); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("%s from outside: got %v, %v, want refused", addr, conn, err)
		}
	}
	// The app calls the inbound side of its own pod.
	conn, err := p.Dial(t, appUser, p.addr+":15006")
	if err == nil {
		send(t, conn, "GET / HTTP/1.1\r\nHost: users\r\n\r\n")
		_, err = conn.Read(make([]byte, 1))
	}
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the app to :15006: got %v, want a reset", err)
	}
}
