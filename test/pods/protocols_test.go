package pods

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"graylane/test/harness"
	"graylane/test/netns"
)

// pair is two pods without apps: a test serves in one and calls from the other, as the apps' user.
type pair struct {
	*Cluster
	caller, callee *Pod
}

// newPair starts the pods with a policy that names the callee "users"; none if empty. The flags are for both sidecars.
func newPair(t *testing.T, policy string, flags ...string) *pair {
	t.Helper()
	p := &pair{Cluster: NewCluster(t)}
	p.caller = p.Start(t, "orders-base", Config{Service: "orders", Tag: "base", Flags: flags})
	p.callee = p.Start(t, "users-base", Config{Service: "users", Tag: "base", Flags: flags})
	if policy != "" {
		p.Apply(t, policy)
	}
	return p
}

const plainPolicy = `apiVersion: graylane.dev/v1
services:
  - {name: users, hosts: [users], versions: [{tag: base, endpoints: ["10.1.0.2:8080"]}]}
`

// serve serves every connection to an address in the callee's pod.
func (p *pair) serve(t *testing.T, addr string, serve func(conn *net.TCPConn)) {
	t.Helper()
	serveIn(t, p.callee.Space, addr, serve)
}

func serveIn(t *testing.T, where *netns.Space, addr string, serve func(conn *net.TCPConn)) {
	t.Helper()
	l := where.Listen(t, addr)
	go func() {
		for {
			conn, err := l.AcceptTCP()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				serve(conn)
			}()
		}
	}()
}

// dial connects from the caller's app.
func (p *pair) dial(t *testing.T, addr string) *net.TCPConn {
	t.Helper()
	conn, err := p.caller.Dial(t, AppUser, addr)
	harness.Must(t, err)
	return conn
}

func send(t *testing.T, conn net.Conn, text string) {
	t.Helper()
	_, err := io.WriteString(conn, text)
	harness.Must(t, err)
}

func wantRead(t *testing.T, conn io.Reader, want string) {
	t.Helper()
	got := make([]byte, len(want))
	if n, err := io.ReadFull(conn, got); err != nil || string(got) != want {
		t.Errorf("got %q, %v, want %q", got[:n], err, want)
	}
}

func TestALargeTransferWithHalfClose(t *testing.T) {
	const size = 1 << 30
	p := newPair(t, plainPolicy)
	block := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	p.serve(t, ":9000", func(conn *net.TCPConn) {
		n, err := compare(conn, block)
		fmt.Fprintf(conn, "%d %v", n, err) // after the caller has ended its side
	})
	conn := p.dial(t, p.callee.Addr+":9000")
	harness.Must(t, conn.SetDeadline(time.Now().Add(3*time.Minute)))
	copied := p.copied(t)
	begin := time.Now()
	for range size / len(block) {
		_, err := conn.Write(block)
		harness.Must(t, err)
	}
	harness.Must(t, conn.CloseWrite())
	answer, err := io.ReadAll(conn)
	if got, want := string(answer), fmt.Sprintf("%d <nil>", size); err != nil || got != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	t.Logf("1 GiB in %v", time.Since(begin).Round(time.Millisecond))
	for name, n := range p.copied(t) {
		if n -= copied[name]; n > size/100 {
			t.Errorf("%s has read and written %d MiB itself, want the kernel to move all of it", name, n>>20)
		}
	}
}

// copied is how many bytes each sidecar has had in hands: read and written, but not spliced (proc_pid_io(5)).
func (p *pair) copied(t *testing.T) map[string]int {
	t.Helper()
	all := make(map[string]int)
	for _, pod := range []*Pod{p.caller, p.callee} {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", pod.Sidecar.PID()))
		harness.Must(t, err)
		var in, out int
		_, err = fmt.Sscanf(string(text), "rchar: %d\nwchar: %d\n", &in, &out)
		harness.Must(t, err)
		all[pod.Name] = in + out
	}
	return all
}

// compare reads to the end and wants blocks.
func compare(r io.Reader, block []byte) (n int, err error) {
	got := make([]byte, len(block))
	for {
		m, err := io.ReadFull(r, got)
		n += m
		switch {
		case !bytes.Equal(got[:m], block[:m]):
			return n, errors.New("other bytes came than were sent")
		case errors.Is(err, io.EOF):
			return n, nil
		case err != nil:
			return n, err
		}
	}
}

func TestHTTPGoesToThePortThatItWasFor(t *testing.T) {
	p := newPair(t, plainPolicy)
	for _, port := range []int{8080, 8081, 9999} {
		l := p.callee.Listen(t, fmt.Sprintf(":%d", port))
		go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintf(w, "%d %q %q", port, r.Host, r.Header["X-Forwarded-For"])
		}))
		for _, addr := range p.callee.At(port) {
			want := fmt.Sprintf("%d %q []", port, addr)
			if status, got := Get(t, p.Client, 0, "http://"+addr+"/"); status != 200 || got != want {
				t.Errorf("%s from outside: got %d %q, want %q", addr, status, got, want)
			}
			if status, got := Get(t, p.caller.Space, AppUser, "http://"+addr+"/"); status != 200 || got != want {
				t.Errorf("%s from a pod: got %d %q, want %q", addr, status, got, want)
			}
		}
	}
}

func TestStrangersGetNothingOfOurs(t *testing.T) {
	p := newPair(t, plainPolicy)
	seen := make(chan string, 1)
	serveIn(t, p.Client, ":80", func(conn *net.TCPConn) {
		head, err := http.ReadRequest(bufio.NewReader(conn))
		if err != nil {
			t.Error(err)
			return
		}
		var b strings.Builder
		_ = head.Header.Write(&b) // into memory
		seen <- b.String()
		fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
	})
	for _, host := range []string{"example.com", ClientAddr, "nobody.knows:80"} {
		conn := p.dial(t, ClientAddr+":80")
		send(t, conn, "GET /a//b/../c?d HTTP/1.1\r\nHost: "+host+"\r\nX-Gray: gray\r\nX-Graylane-Hops: 3\r\nx-lower: 1\r\n\r\n")
		wantRead(t, conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
		if got, want := <-seen, "X-Lower: 1\r\n"; got != want {
			t.Errorf("%s: the stranger got\n%swant\n%s", host, got, want)
		}
	}
	// Without a Host there is a destination still (RFC 9112, 3.2: HTTP/1.0).
	conn := p.dial(t, ClientAddr+":80")
	send(t, conn, "GET / HTTP/1.0\r\n\r\n")
	if reply, err := io.ReadAll(conn); err != nil || !strings.HasPrefix(string(reply), "HTTP/1.") {
		t.Errorf("without a Host: got %q, %v, want a reply", reply, err)
	}
	<-seen
}

func TestUpgradedConnections(t *testing.T) {
	p := newPair(t, plainPolicy)
	p.serve(t, ":8080", func(conn *net.TCPConn) {
		r := bufio.NewReader(conn)
		head, err := http.ReadRequest(r)
		if err != nil || head.Header.Get("Upgrade") != "websocket" {
			t.Errorf("got %v, %v, want an upgrade", head, err)
			return
		}
		fmt.Fprint(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n\x81\x05hello")
		_, _ = io.Copy(conn, r) // ends with its caller
	})
	for _, addr := range p.callee.At(8080) {
		conn := p.dial(t, addr)
		send(t, conn, "GET /chat HTTP/1.1\r\nHost: users\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n\x81\x02hi")
		r := bufio.NewReader(conn)
		resp, err := http.ReadResponse(r, nil)
		if err != nil || resp.StatusCode != http.StatusSwitchingProtocols {
			t.Fatalf("got %v, %v, want 101", resp, err)
		}
		wantRead(t, r, "\x81\x05hello\x81\x02hi")
		send(t, conn, "\x88\x00")
		wantRead(t, r, "\x88\x00")
	}
}

func TestEverythingPassesBeforeAPolicy(t *testing.T) {
	p := newPair(t, "")
	const request = "GET / HTTP/1.1\r\n\r\n" // without a Host, which no HTTP proxy would pass
	p.serve(t, ":8080", func(conn *net.TCPConn) {
		head := make([]byte, len(request))
		_, err := io.ReadFull(conn, head)
		fmt.Fprintf(conn, "%s %v", head, err)
	})
	for _, addr := range p.callee.At(8080) {
		conn := p.dial(t, addr)
		send(t, conn, request)
		wantRead(t, conn, request+" <nil>")
	}
}
