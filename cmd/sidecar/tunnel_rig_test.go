package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"
)

const (
	toTester = "X-User-Id: 7\r\n"
	hello    = "\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00" // as much of a ClientHello as it takes to know one
)

// listener plays a server for each connection, which is closed when play returns.
func listener(t *testing.T, play func(c *net.TCPConn)) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				play(conn.(*net.TCPConn))
			}()
		}
	}()
	return l.Addr().String()
}

// web is a server that says its name and how the request was marked, in HTTP/1 and h2c.
func web(t *testing.T, name string) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Protocols: new(http.Protocols), Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s marked %q asked for %s", name, r.Header.Get("X-Gray"), r.Host)
	})}
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetUnencryptedHTTP2(true)
	t.Cleanup(func() { server.Close() })
	go server.Serve(l)
	return l.Addr().String()
}

// echo repeats what it hears to the end.
func echo(t *testing.T, name string) (address string) {
	return listener(t, func(c *net.TCPConn) {
		io.WriteString(c, name+": ")
		io.Copy(c, c)
	})
}

// tunnelPolicy has a service users with a version for testers. More is said of the
// service first, then of its versions.
func tunnelPolicy(t *testing.T, base, gray string, more ...string) string {
	more = append(more, "", "")
	return file(t, "policy.yaml", fmt.Sprintf(`apiVersion: graylane.dev/v1
rules: [{name: testers, tag: gray, matches: [{headers: [{name: X-User-Id, value: "7"}]}]}]
services: [{name: users, hosts: [users], %[1]s versions: [{tag: base, %[2]s endpoints: [%[3]q]}, {tag: gray, %[2]s endpoints: [%[4]q]}]}]
`, more[0], more[1], base, gray))
}

// tunnel asks the sidecar for one to the target and says first with that.
func (r *running) tunnel(t *testing.T, target, first string) (conn *net.TCPConn, from *bufio.Reader) {
	t.Helper()
	c, err := net.Dial("tcp", r.outbound.set.Addrs()[0].String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %[1]s\r\n\r\n%s", target, first)
	return c.(*net.TCPConn), bufio.NewReader(c)
}

// established reads the reply to CONNECT.
func established(t *testing.T, from *bufio.Reader) {
	t.Helper()
	for _, want := range []string{"HTTP/1.1 200 OK\r\n", "\r\n"} {
		if got, err := from.ReadString('\n'); got != want {
			t.Fatalf("CONNECT was answered %q, %v, want %q", got, err, want)
		}
	}
}

// reply reads one of HTTP.
func reply(t *testing.T, from *bufio.Reader) (status int, body string) {
	t.Helper()
	resp, err := http.ReadResponse(from, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

func get(host, headers string) string {
	return "GET /v1 HTTP/1.1\r\nHost: " + host + "\r\n" + headers + "\r\n"
}

func wantPage(t *testing.T, from *bufio.Reader, want string) {
	t.Helper()
	if status, got := reply(t, from); status != 200 || got != want {
		t.Errorf("got %d %q, want %q", status, got, want)
	}
}
