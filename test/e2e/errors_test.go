package e2e

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"graylane/test/harness"
)

// errorHeader is where an answer of the sidecar itself says why.
const errorHeader = "X-Graylane-Error"

// errorsSeen are the values of errorHeader that came in this run.
var errorsSeen sync.Map

func noteError(h http.Header) {
	for _, reason := range h.Values(errorHeader) {
		errorsSeen.Store(reason, true)
	}
}

// undocumentedErrors are those that came in this run and are not in docs/metrics.md.
func undocumentedErrors() ([]string, error) {
	documented, err := documentedErrors()
	if err != nil {
		return nil, err
	}
	var unknown []string
	errorsSeen.Range(func(reason, _ any) bool {
		if documented[reason.(string)] == "" {
			unknown = append(unknown, reason.(string))
		}
		return true
	})
	return unknown, nil
}

// documentedErrors gives the status of each error in docs/metrics.md.
func documentedErrors() (map[string]string, error) {
	page, err := os.ReadFile(filepath.Join(harness.Repository, "docs", "metrics.md"))
	if err != nil {
		return nil, err
	}
	_, section, _ := strings.Cut(string(page), "## Values of `error`\n")
	statuses := map[string]string{}
	for line := range strings.Lines(section) {
		if cells := strings.Split(line, "|"); len(cells) == 5 && strings.HasPrefix(cells[1], " `") {
			statuses[strings.Trim(cells[1], " `")] = strings.TrimSpace(cells[2])
		}
	}
	if len(statuses) == 0 {
		return nil, fmt.Errorf("docs/metrics.md has no table of errors")
	}
	return statuses, nil
}

// TestAnswersOfTheSidecarSayWhyInWordsOfTheDocs brings about every error that the docs list but those that no caller
// hears of, or that show a fault of the sidecar.
func TestAnswersOfTheSidecarSayWhyInWordsOfTheDocs(t *testing.T) {
	documented, err := documentedErrors()
	harness.Must(t, err)
	for _, silent := range []string{"caller_gone", "idle_timeout", "no_reply", "not_a_connect", "out_of_files", "shutting_down"} {
		delete(documented, silent)
	}
	asked := make(chan struct{}, 100)
	silent := playing(t, func(conn net.Conn) { asked <- struct{}{}; _, _ = io.Copy(io.Discard, conn) })
	closing := playing(t, func(net.Conn) {})
	babbling := playing(t, func(conn net.Conn) { _, _ = io.WriteString(conn, "what is this\r\n\r\n") })

	policy := harness.PolicyFile(filepath.Join(t.TempDir(), "policy.yaml"))
	policy.Write(t, fmt.Sprintf(`apiVersion: graylane.dev/v1
routes: [{path: /some, service: slow, stripPrefix: 1, cors: {allowOrigins: ["https://shop.example"]}}]
services:
  - {name: nowhere, versions: [{tag: base, endpoints: []}]}
  - {name: slow, timeouts: {header: 100ms}, versions: [{tag: base, endpoints: [%[1]q]}]}
  - {name: guarded, guard: reject, versions: [{tag: base, endpoints: []}, {tag: gray, endpoints: []}]}
  - {name: full, limit: {requests: 1, wait: 10ms}, versions: [{tag: base, endpoints: [%[1]q]}]}
`, silent))
	gateway := harness.FreeAddress(t)
	open := harness.StartSidecar(t, "open", string(policy), "--gateway", gateway).WaitReady(t)
	strict := harness.StartSidecar(t, "strict", string(policy), "--max-head", "1KiB", "--max-body", "9", "--head-timeout", "100ms").WaitReady(t)
	narrow := harness.StartSidecar(t, "narrow", string(policy), "--max-connections", "1").WaitReady(t)
	gray := harness.StartSidecar(t, "gray", string(policy), "--service", "guarded", "--tag", "gray").WaitReady(t)
	none := harness.StartSidecar(t, "none", string(policy)+".none")

	to := func(host string) string { return "GET http://" + host + "/ HTTP/1.1\r\nHost: any\r\n\r\n" }
	first := connected(t, narrow.Outbound)
	reply(t, first, to("nowhere")) // so that the connection counts
	_, err = io.WriteString(connected(t, open.Outbound), to("full"))
	harness.Must(t, err)
	<-asked // so that the endpoint has a request

	for _, c := range []struct{ want, at, request string }{
		{"no_policy", none.Outbound, to("users")},
		{"unavailable", open.Outbound, to("nowhere")},
		{"overloaded", open.Outbound, to("full")},
		{"header_timeout", open.Outbound, to("slow")},
		{"no_host", open.Outbound, "GET / HTTP/1.0\r\n\r\n"},
		{"version", open.Outbound, "GET / HTTP/3.0\r\nHost: any\r\n\r\n"},
		{"bad_request", open.Outbound, "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"},
		{"connect_refused", open.Outbound, to(harness.FreeAddress(t))},
		{"dns_failed", open.Outbound, to("no..name")}, // which nobody is asked for
		{"connect_timeout", open.Outbound, to(deaf(t))},
		{"origin_closed", open.Outbound, "POST http://" + closing + "/ HTTP/1.1\r\nHost: any\r\nContent-Length: 0\r\n\r\n"},
		{"bad_reply", open.Outbound, to(babbling)},
		{"loop", open.Outbound, to(open.Outbound)},
		{"leaked", gray.Inbound, "GET / HTTP/1.1\r\nHost: guarded\r\nX-Gray: base\r\n\r\n"},
		{"no_route", gateway, "GET /other HTTP/1.1\r\nHost: any\r\n\r\n"},
		{"bad_path", gateway, "GET /x/../some/y HTTP/1.1\r\nHost: any\r\n\r\n"},
		{"cors", gateway, "GET /some HTTP/1.1\r\nHost: any\r\nOrigin: https://other.example\r\n\r\n"},
		{"head_too_large", strict.Outbound, "GET / HTTP/1.1\r\nHost: any\r\nX: " + strings.Repeat("x", 2<<10) + "\r\n\r\n"},
		{"body_too_large", strict.Outbound, "POST http://nowhere/ HTTP/1.1\r\nHost: any\r\nContent-Length: 10\r\n\r\n0123456789"},
		{"caller_timeout", strict.Outbound, "GET / HTTP/1.1\r\nHost: "},
		{"too_many_callers", narrow.Outbound, to("nowhere")},
	} {
		t.Run(c.want, func(t *testing.T) {
			resp := reply(t, connected(t, c.at), c.request)
			if got := resp.Header.Get(errorHeader); got != c.want || fmt.Sprint(resp.StatusCode) != documented[c.want] {
				t.Errorf("got %d %s, want %s %s", resp.StatusCode, got, documented[c.want], c.want)
			}
		})
		delete(documented, c.want)
	}
	if left := slices.Sorted(maps.Keys(documented)); len(left) > 0 {
		t.Errorf("this test does not bring about %v", left)
	}
}

// playing is an address where each connection, once a byte came, is played to its end.
func playing(t testing.TB, play func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	harness.Must(t, err)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				if _, err := conn.Read(make([]byte, 8<<10)); err == nil {
					play(conn)
				}
			}()
		}
	}()
	return l.Addr().String()
}

// deaf is an address that answers no SYN: its queue is full, and nobody accepts.
func deaf(t testing.TB) string {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	harness.Must(t, err)
	t.Cleanup(func() { syscall.Close(fd) })
	harness.Must(t, syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	harness.Must(t, syscall.Listen(fd, 0))
	name, err := syscall.Getsockname(fd)
	harness.Must(t, err)
	address := harness.Local(name.(*syscall.SockaddrInet4).Port)
	for refused := 0; refused < 3; { // once may be a machine that is busy
		conn, err := net.DialTimeout("tcp", address, 200*time.Millisecond)
		if err != nil {
			refused++
			continue
		}
		t.Cleanup(func() { conn.Close() })
	}
	return address
}

func connected(t testing.TB, address string) net.Conn {
	t.Helper()
	conn, err := net.DialTimeout("tcp", address, harness.Patience)
	harness.Must(t, err)
	t.Cleanup(func() { conn.Close() })
	harness.Must(t, conn.SetDeadline(time.Now().Add(harness.Patience)))
	return conn
}

// reply sends a request and reads the answer.
func reply(t testing.TB, conn net.Conn, request string) *http.Response {
	t.Helper()
	_, err := io.WriteString(conn, request)
	harness.Must(t, err)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	harness.Must(t, err)
	_, err = io.Copy(io.Discard, resp.Body)
	harness.Must(t, err)
	harness.Must(t, resp.Body.Close())
	noteError(resp.Header)
	return resp
}
