package pods

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"graylane/test/harness"
)

// talk is a connection from one pod to another that goes on for as long as both sides like.
type talk struct {
	name   string
	caller *net.TCPConn
	heard  *bufio.Reader
}

// goesOn says something and wants to hear it from the other side.
func (k *talk) goesOn(t *testing.T, text string) {
	t.Helper()
	harness.Must(t, k.caller.SetDeadline(time.Now().Add(harness.Patience)))
	got := make([]byte, len(text))
	_, err := io.WriteString(k.caller, text)
	if err == nil {
		_, err = io.ReadFull(k.heard, got)
	}
	if string(got) != text || err != nil {
		t.Errorf("%s: got %q, %v, want %q", k.name, got, err, text)
	}
}

// talks opens one of each kind. What becomes of them at the callee's end goes to ends.
func (p *pair) talks(t *testing.T) (list []*talk, ends <-chan error) {
	t.Helper()
	ended := make(chan error, 3)
	p.serve(t, ":9000", func(conn *net.TCPConn) {
		_, err := io.Copy(conn, conn)
		ended <- err
	})
	p.serve(t, ":8080", func(conn *net.TCPConn) {
		r := bufio.NewReader(conn)
		head, err := http.ReadRequest(r)
		if err != nil || head.Header.Get("Upgrade") != "websocket" {
			fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
			_, _ = io.Copy(io.Discard, r) // ends with its caller
			return
		}
		fmt.Fprint(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
		_, err = io.Copy(conn, r)
		ended <- err
	})
	for _, kind := range []struct{ name, addr, says, hears string }{
		{"raw TCP", p.callee.Addr + ":9000", "", ""},
		{
			"a WebSocket", p.callee.Addr + ":8080",
			"GET /chat HTTP/1.1\r\nHost: users\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
			"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
		},
		{
			"a tunnel", "127.0.0.1:15001", "CONNECT " + p.callee.Addr + ":9000 HTTP/1.1\r\nHost: h\r\n\r\n",
			"HTTP/1.1 200 OK\r\n\r\n",
		},
	} {
		conn := p.dial(t, kind.addr)
		k := &talk{kind.name, conn, bufio.NewReader(conn)}
		send(t, conn, kind.says)
		wantRead(t, k.heard, kind.hears)
		k.goesOn(t, "\x00hello")
		list = append(list, k)
	}
	return list, ended
}

// C02: whatever is no exchange of HTTP goes on until the sidecar of either side has been draining for as long as it may,
// and then its peers learn that it was cut.
func TestOpenConnectionsLiveThroughDrainAndGrace(t *testing.T) {
	const drain = 8 * time.Second
	for _, side := range []string{"the way out", "the way in"} {
		t.Run(side, func(t *testing.T) {
			p := newPair(t, plainPolicy, "--grace", "1s", "--drain", drain.String())
			list, ends := p.talks(t)
			all := func(when string) {
				t.Helper()
				for _, k := range list {
					k.goesOn(t, when)
				}
			}
			leaving := p.caller
			if side == "the way in" {
				leaving = p.callee
			}
			idle := p.idleCall(t)

			leaving.Run(t, harness.Binary(t), "drain")
			if status, body := leaving.health(t, "/ready"); status != http.StatusServiceUnavailable {
				t.Errorf("/ready after drain: got %d %q, want 503", status, body)
			}
			if side == "the way in" {
				// Who waits for a next request is sent away, which shows that the others were looked at too.
				if more, err := io.ReadAll(idle); len(more) > 0 || err != nil {
					t.Errorf("an idle connection: got %q, %v, want its end", more, err)
				}
			}
			all("after drain")

			signalled := time.Now()
			leaving.Sidecar.Signal(t, syscall.SIGTERM)
			if side == "the way in" {
				harness.WaitFor(t, "it takes no new connection", func() bool {
					conn, err := p.Client.Dial(t, 0, p.callee.Addr+":8080")
					if err == nil {
						_ = conn.Close()
					}
					return errors.Is(err, syscall.ECONNREFUSED)
				})
			} else {
				// The app is there still, and may begin to talk.
				k := &talk{name: "one more", caller: p.dial(t, p.callee.Addr+":9000")}
				k.heard = bufio.NewReader(k.caller)
				k.goesOn(t, "late")
				harness.Must(t, k.caller.Close())
				if err := <-ends; err != nil {
					t.Errorf("one more has ended with %v, want a regular end", err)
				}
			}
			all("after SIGTERM")

			for _, k := range list {
				harness.Must(t, k.caller.SetDeadline(time.Now().Add(harness.Patience)))
				if more, err := io.ReadAll(k.heard); len(more) > 0 || !errors.Is(err, syscall.ECONNRESET) {
					t.Errorf("%s: the caller got %q, %v, want a reset", k.name, more, err)
				}
				if lived := time.Since(signalled); lived < drain {
					t.Errorf("%s was cut after %v, want %v at least", k.name, lived, drain)
				}
			}
			for range list {
				if err := <-ends; !errors.Is(err, syscall.ECONNRESET) {
					t.Errorf("the callee got %v, want a reset", err)
				}
			}
			if code := leaving.Sidecar.Exit(t); code != 0 {
				t.Errorf("exit code is %d, want 0", code)
			}
			if log := leaving.Sidecar.Log.String(); !strings.Contains(log, "took longer than the drain\" number=3") {
				t.Errorf("the log does not say how many were cut:\n%s", log)
			}
		})
	}
}

// idleCall makes a call from outside to the callee on a connection that is idle then.
func (p *pair) idleCall(t *testing.T) *bufio.Reader {
	t.Helper()
	conn, err := p.Client.Dial(t, 0, p.callee.Addr+":8080")
	harness.Must(t, err)
	send(t, conn, "GET / HTTP/1.1\r\nHost: users\r\n\r\n")
	r := bufio.NewReader(conn)
	wantRead(t, r, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
	return r
}

// C02: who ends within the drain is not waited for any longer, and has lost nothing.
func TestASidecarEndsWithTheLastOpenConnection(t *testing.T) {
	p := newPair(t, plainPolicy, "--app", "127.0.0.1:1", "--drain", "10m")
	list, ends := p.talks(t)
	for _, pod := range []*Pod{p.callee, p.caller} {
		pod.Sidecar.Signal(t, syscall.SIGTERM)
		harness.WaitFor(t, pod.Name+" drains", func() bool { return strings.Contains(pod.Sidecar.Log.String(), "msg=draining") })
	}
	for _, k := range list {
		k.goesOn(t, "last words")
		harness.Must(t, k.caller.CloseWrite())
		if more, err := io.ReadAll(k.heard); len(more) > 0 || err != nil {
			t.Errorf("%s: got %q, %v, want an end", k.name, more, err)
		}
		if err := <-ends; err != nil {
			t.Errorf("%s: the callee got %v, want an end", k.name, err)
		}
	}
	for _, pod := range []*Pod{p.caller, p.callee} {
		if code := pod.Sidecar.Exit(t); code != 0 {
			t.Errorf("%s: exit code is %d, want 0", pod.Name, code)
		}
		if strings.Contains(pod.Sidecar.Log.String(), "connections cut") {
			t.Errorf("%s has cut a connection", pod.Name)
		}
	}
}

// C02: a reply that is cut is no complete one, whatever says where it ends.
func TestCutRepliesAreBroken(t *testing.T) {
	for _, side := range []string{"the way out", "the way in"} {
		t.Run(side, func(t *testing.T) {
			p := newPair(t, plainPolicy, "--drain", "1s")
			streams := map[string]string{
				"/chunked": "Transfer-Encoding: chunked\r\n\r\n9\r\ndata: 1\n\n\r\n",
				"/length":  "Content-Length: 100\r\n\r\ndata: 1\n\n",
				"/end":     "\r\ndata: 1\n\n",
			}
			p.serve(t, ":8080", func(conn *net.TCPConn) {
				r := bufio.NewReader(conn)
				if head, err := http.ReadRequest(r); err == nil {
					fmt.Fprint(conn, "HTTP/1.1 200 OK\r\n"+streams[head.URL.Path])
					_, _ = r.ReadByte() // until the sidecar ends it
				}
			})
			replies := make(map[string]*http.Response)
			for path := range streams {
				conn := p.dial(t, p.callee.Addr+":8080")
				send(t, conn, "GET "+path+" HTTP/1.1\r\nHost: users\r\n\r\n")
				reply, err := http.ReadResponse(bufio.NewReader(conn), nil)
				harness.Must(t, err)
				wantRead(t, reply.Body, "data: 1\n\n")
				replies[path] = reply
			}
			leaving := p.caller
			if side == "the way in" {
				leaving = p.callee
			}
			leaving.Sidecar.Signal(t, syscall.SIGTERM)
			for path, reply := range replies {
				if more, err := io.ReadAll(reply.Body); len(more) > 0 || !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, syscall.ECONNRESET) {
					t.Errorf("%s: got %q, %v, want an error", path, more, err)
				}
			}
		})
	}
}
