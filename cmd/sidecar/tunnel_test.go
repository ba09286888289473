package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"graylane/test/harness"
)

func TestRequestsInATunnelAreDecidedOneByOne(t *testing.T) {
	r := start(t, tunnelPolicy(t, web(t, "base"), web(t, "gray")), "--access-log")
	harness.WaitFor(t, "there is a policy", func() bool { return r.store.Load() != nil })
	base, gray := `base marked "base" asked for users`, `gray marked "gray" asked for users`

	conn, from := r.tunnel(t, "users:80", get("users", toTester)) // in one piece with the CONNECT
	established(t, from)
	wantPage(t, from, gray)
	for range 2 {
		io.WriteString(conn, get("users", ""))
		wantPage(t, from, base)
		io.WriteString(conn, get("users", toTester))
		wantPage(t, from, gray)
	}

	harness.WaitFor(t, "each request is logged, and no tunnel", func() bool { return len(r.log.with(t, "request")) == 5 })
	for _, record := range r.log.with(t, "request") {
		if record["method"] != "GET" || record["host"] != "users:80" || record["service"] != "users" {
			t.Errorf("logged %v, want a GET of users:80", record)
		}
	}
}

// A caller that is slow to speak may wait for a server that speaks first. That it does
// not costs neither a connection nor what the limit allows.
func TestACallerThatSpeaksLateInATunnelSpeaksHTTPAllTheSame(t *testing.T) {
	asked := make(chan bool, 2)
	base := listener(t, func(c *net.TCPConn) {
		asked <- true
		for from := bufio.NewReader(c); ; {
			if _, err := http.ReadRequest(from); err != nil {
				return
			}
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbase")
		}
	})
	for _, first := range []string{"", "GE"} {
		r := start(t, tunnelPolicy(t, base, web(t, "gray"), "limit: {requests: 1},"))
		harness.WaitFor(t, "there is a policy", func() bool { return r.store.Load() != nil })
		conn, from := r.tunnel(t, "users:80", first)
		established(t, from)
		<-asked
		io.WriteString(conn, get("users", "")[len(first):])
		wantPage(t, from, "base")
		io.WriteString(conn, get("users", toTester))
		wantPage(t, from, `gray marked "gray" asked for users`)
		if len(asked) > 0 {
			t.Error("the request had a connection of its own, want that of the tunnel")
		}
	}
}

func TestHTTP2InATunnelIsDecidedToo(t *testing.T) {
	r := start(t, tunnelPolicy(t, web(t, "base"), web(t, "gray")))
	harness.WaitFor(t, "there is a policy", func() bool { return r.store.Load() != nil })
	transport := &http.Transport{Protocols: new(http.Protocols), DialContext: func(_ context.Context, _, target string) (net.Conn, error) {
		conn, from := r.tunnel(t, target, "")
		established(t, from)
		return conn, nil
	}}
	transport.Protocols.SetUnencryptedHTTP2(true)
	t.Cleanup(transport.CloseIdleConnections)
	for user, want := range map[string]string{"7": `gray marked "gray" asked for users`, "8": `base marked "base" asked for users`} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://users/v1", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-User-Id", user)
		resp, err := transport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		page, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if string(page) != want || resp.ProtoMajor != 2 || err != nil {
			t.Errorf("user %s: got %q by HTTP/%d, %v, want %q by HTTP/2", user, page, resp.ProtoMajor, err, want)
		}
	}
}

// WebSocket libraries ask for a tunnel where they have a proxy, by ws:// too.
func TestAnUpgradeInATunnelIsDecidedToo(t *testing.T) {
	gray := listener(t, func(c *net.TCPConn) {
		from := bufio.NewReader(c)
		req, err := http.ReadRequest(from)
		if err != nil {
			return
		}
		fmt.Fprintf(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n%s: ", req.Header.Get("Upgrade"), req.Header.Get("X-Gray"))
		io.Copy(c, from)
	})
	r := start(t, tunnelPolicy(t, harness.FreeAddress(t), gray))
	harness.WaitFor(t, "there is a policy", func() bool { return r.store.Load() != nil })
	conn, from := r.tunnel(t, "users:80", get("users", toTester+"Connection: Upgrade\r\nUpgrade: websocket\r\n"))
	established(t, from)
	resp, err := http.ReadResponse(from, nil)
	if err != nil || resp.StatusCode != 101 || resp.Header.Get("Upgrade") != "websocket" {
		t.Fatalf("got %v, %v, want 101 for websocket", resp, err)
	}
	io.WriteString(conn, "frame")
	conn.CloseWrite()
	if got, err := io.ReadAll(from); string(got) != "gray: frame" || err != nil {
		t.Errorf("got %q, %v, want the frame back from gray", got, err)
	}
}

func TestATunnelToAnOpaquePortIsNotLookedInto(t *testing.T) {
	base := echo(t, "base")
	r := start(t, tunnelPolicy(t, base, harness.FreeAddress(t)), "--opaque-ports=25")
	harness.WaitFor(t, "there is a policy", func() bool { return r.store.Load() != nil })
	conn, from := r.tunnel(t, "users:25", get("users", toTester))
	established(t, from)
	conn.CloseWrite()
	if got, err := io.ReadAll(from); string(got) != "base: "+get("users", toTester) || err != nil {
		t.Errorf("got %q, %v, want the bytes back from base", got, err)
	}
}

func TestATunnelToAStrangerHoldsNothingOfOurs(t *testing.T) {
	stranger := web(t, "stranger")
	r := start(t, tunnelPolicy(t, harness.FreeAddress(t), harness.FreeAddress(t)), "--access-log")
	harness.WaitFor(t, "there is a policy", func() bool { return r.store.Load() != nil })
	conn, from := r.tunnel(t, stranger, get("users", toTester+"X-Gray: gray\r\n"))
	established(t, from)
	wantPage(t, from, `stranger marked "" asked for users`) // the name after CONNECT counts
	io.WriteString(conn, "GET /v1 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
	wantPage(t, from, `stranger marked "" asked for `+stranger)
	harness.WaitFor(t, "both are logged", func() bool { return len(r.log.with(t, "request")) == 2 })

	_, from = r.tunnel(t, harness.FreeAddress(t), "")
	if status, body := reply(t, from); status != 502 {
		t.Errorf("a tunnel to nobody: got %d %q, want 502", status, body)
	}
}

func TestATunnelOfOtherBytesGoesToTheVersionOfThePod(t *testing.T) {
	base, gray := echo(t, "base"), echo(t, "gray")
	for tag, want := range map[string]string{"gray": "gray: ", "base": "base: "} {
		r := start(t, tunnelPolicy(t, base, gray), "--tag="+tag, "--access-log")
		harness.WaitFor(t, "there is a policy", func() bool { return r.store.Load() != nil })
		for _, bytes := range []string{hello, "hello\n", ""} { // the last waits for the server to speak
			conn, from := r.tunnel(t, "users:443", bytes)
			established(t, from)
			if _, err := from.Peek(1); err != nil {
				t.Fatal(err)
			}
			io.WriteString(conn, "more")
			conn.CloseWrite()
			if got, err := io.ReadAll(from); string(got) != want+bytes+"more" || err != nil {
				t.Errorf("tag %q: got %q, %v, want %q", tag, got, err, want+bytes+"more")
			}
		}
		harness.WaitFor(t, "the tunnels are logged", func() bool { return len(r.log.with(t, "request")) == 3 })
	}
}

// What speaks HTTP/2 to requests takes the bytes of a tunnel as they are.
func TestATunnelToAVersionThatSpeaksHTTP2IsMadeOfBytes(t *testing.T) {
	r := start(t, tunnelPolicy(t, echo(t, "base"), web(t, "gray"), "", "protocol: h2c,"))
	harness.WaitFor(t, "there is a policy", func() bool { return r.store.Load() != nil })
	for _, bytes := range []string{hello, ""} {
		conn, from := r.tunnel(t, "users:443", bytes)
		established(t, from)
		if _, err := from.Peek(1); err != nil {
			t.Fatal(err)
		}
		conn.CloseWrite()
		if got, err := io.ReadAll(from); string(got) != "base: "+bytes || err != nil {
			t.Errorf("got %q, %v, want %q", got, err, "base: "+bytes)
		}
	}
	_, from := r.tunnel(t, "users:80", get("users", toTester))
	established(t, from)
	wantPage(t, from, `gray marked "gray" asked for users`)
}

// The version of the tunnel has nobody, that of the request in it has.
func TestTheTunnelNeedsNoEndpointForTheRequestsInIt(t *testing.T) {
	r := start(t, tunnelPolicy(t, harness.FreeAddress(t), web(t, "gray")))
	harness.WaitFor(t, "there is a policy", func() bool { return r.store.Load() != nil })
	conn, from := r.tunnel(t, "users:80", get("users", toTester))
	established(t, from)
	wantPage(t, from, `gray marked "gray" asked for users`)
	io.WriteString(conn, get("users", ""))
	if status, body := reply(t, from); status != 503 {
		t.Errorf("a base request: got %d %q, want 503", status, body)
	}

	_, from = r.tunnel(t, "users:443", hello)
	established(t, from)
	if got, err := io.ReadAll(from); len(got) > 0 || !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("TLS: got %q, %v, want a reset", got, err)
	}
}

func TestALoopOfTunnelsEnds(t *testing.T) {
	r := start(t, tunnelPolicy(t, harness.FreeAddress(t), harness.FreeAddress(t)))
	harness.WaitFor(t, "there is a policy", func() bool { return r.store.Load() != nil })
	own := r.outbound.set.Addrs()[0].String()
	_, from := r.tunnel(t, own, "")
	if status, body := reply(t, from); status != 508 {
		t.Errorf("a tunnel to the sidecar itself: got %d %q, want 508", status, body)
	}
	conn, from := r.tunnel(t, "users:80", strings.Repeat("CONNECT users:80 HTTP/1.1\r\nHost: users\r\n\r\n", 3))
	established(t, from)
	for range 3 { // in a tunnel it is for whom that leads to
		if status, body := reply(t, from); status != 503 {
			t.Errorf("a tunnel in a tunnel: got %d %q, want 503", status, body)
		}
	}
	io.WriteString(conn, get("users", "X-Graylane-Hops: 8\r\n"))
	if status, body := reply(t, from); status != 508 {
		t.Errorf("after 8 hops: got %d %q, want 508", status, body)
	}
}

// Each of two sidecars takes the other for the endpoint. What goes round is counted, in tunnels too.
func TestALoopOfTunnelsOverTwoSidecarsEnds(t *testing.T) {
	own, other := harness.FreeAddress(t), harness.FreeAddress(t)
	first := start(t, tunnelPolicy(t, other, other), "--outbound="+own, "--access-log")
	second := start(t, tunnelPolicy(t, own, own), "--outbound="+other, "--access-log")
	for _, r := range []*running{first, second} {
		harness.WaitFor(t, "there is a policy", func() bool { return r.store.Load() != nil })
	}
	served := func() int { return len(first.log.with(t, "request")) + len(second.log.with(t, "request")) }
	const connect = "CONNECT users:80 HTTP/1.1\r\nHost: users\r\n"

	for depth := range 3 { // a tunnel in a tunnel ends at the other sidecar
		before := served()
		conn, from := first.tunnel(t, "users:80", "")
		established(t, from)
		for range depth {
			io.WriteString(conn, connect+"\r\n")
			established(t, from)
		}
		io.WriteString(conn, get("users", ""))
		if status, body := reply(t, from); status != 508 {
			t.Errorf("in %d tunnels: got %d %q, want 508", depth+1, status, body)
		}
		harness.WaitFor(t, "8 hops are logged, and the end", func() bool { return served()-before == 9 })
	}

	conn, from := first.tunnel(t, "users:80", "")
	established(t, from)
	io.WriteString(conn, connect+"X-Graylane-Hops: 8\r\n\r\n")
	if status, body := reply(t, from); status != 508 {
		t.Errorf("a tunnel in a tunnel after 8 hops: got %d %q, want 508", status, body)
	}
}
