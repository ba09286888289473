package http1

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"graylane/test/harness"
)

// patient is how long a test waits for what should come at once.
const patient = 20 * time.Second

// soon is how late something may be that the relay must not hold back.
const soon = 100 * time.Millisecond

// serve runs a Server on loopback and returns its address. It checks at the end that nothing is left.
func serve(t testing.TB, cfg Config, h Handler) (*Server, string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := NewServer(cfg, h)
	var conns sync.WaitGroup
	conns.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			conns.Go(func() { s.ServeConn(c, netip.AddrPort{}) })
		}
	})
	t.Cleanup(func() {
		_ = ln.Close()
		s.Close()
		conns.Wait()
		if n := s.Active(); n != 0 {
			t.Errorf("Active() = %d after the end, want 0", n)
		}
	})
	return s, ln.Addr().String()
}

// listen runs an origin: play is called for each connection, which is closed when it returns.
func listen(t testing.TB, play func(c *peer)) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var open []net.Conn
	var plays sync.WaitGroup
	plays.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open = append(open, c)
			mu.Unlock()
			plays.Go(func() {
				defer c.Close()
				play(newPeer(t, c))
			})
		}
	})
	t.Cleanup(func() {
		_ = ln.Close()
		mu.Lock()
		for _, c := range open {
			_ = c.Close()
		}
		mu.Unlock()
		plays.Wait()
	})
	return ln.Addr().String()
}

type handlerFunc func(x *Exchange)

func (f handlerFunc) Serve(x *Exchange) { f(x) }

// sendTo passes everything on to one origin.
func sendTo(o *Origin) Handler {
	return handlerFunc(func(x *Exchange) {
		if err := x.Send(o); err != nil {
			x.Fail(err)
		}
	})
}

// between puts a relay in front of an origin that plays play, and returns the relay's address.
func between(t testing.TB, cfg Config, oc OriginConfig, play func(c *peer)) string {
	t.Helper()
	o := NewOrigin(listen(t, play), oc)
	_, addr := serve(t, cfg, sendTo(o))
	t.Cleanup(o.Close)
	return addr
}

// peer is one end of a connection, used as bytes.
type peer struct {
	net.Conn
	t testing.TB
	r *bufio.Reader
}

func newPeer(t testing.TB, c net.Conn) *peer { return &peer{Conn: c, t: t, r: bufio.NewReader(c)} }

func dial(t testing.TB, addr string) *peer {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(4 * patient))
	return newPeer(t, c)
}

// say writes text, in which ⏎ stands for CRLF.
func (p *peer) say(text string) {
	if _, err := io.WriteString(p.Conn, crlf(text)); err != nil {
		p.t.Logf("write: %v", err)
	}
}

func crlf(s string) string { return strings.ReplaceAll(s, "⏎", "\r\n") }

func visible(s string) string { return strings.ReplaceAll(s, "\r\n", "⏎") }

// head reads up to an empty line, and returns what it read with ⏎ for CRLF; "" at the end of the connection.
func (p *peer) head() string {
	var b bytes.Buffer
	for {
		line, err := p.r.ReadString('\n')
		b.WriteString(line)
		if err != nil || line == "\r\n" {
			return visible(b.String())
		}
	}
}

// bytes reads n bytes.
func (p *peer) bytes(n int) string {
	b := make([]byte, n)
	k, _ := io.ReadFull(p.r, b)
	return visible(string(b[:k]))
}

// rest reads to the end of the connection and says how it ended.
func (p *peer) rest() (string, error) {
	b, err := io.ReadAll(p.r)
	return visible(string(b)), err
}

// timed reads n bytes and says how long they took to come.
func (p *peer) timed(n int) (string, time.Duration) {
	start := time.Now()
	s := p.bytes(n)
	return s, time.Since(start)
}

// promptly wants one of ten tries in which nothing came late. Each says how late the latest was.
func promptly(t testing.TB, try func() (latest time.Duration)) {
	t.Helper()
	harness.Once(t, func() error {
		if latest := try(); latest > soon {
			return fmt.Errorf("held back for %v, want %v at most", latest, soon)
		}
		return nil
	})
}

// message reads a head and the body that its Content-Length announces.
func (p *peer) message() string {
	h := p.head()
	n := 0
	for _, line := range strings.Split(h, "⏎") {
		if k, v, ok := strings.Cut(line, ":"); ok && strings.EqualFold(k, "content-length") {
			fmt.Sscan(v, &n)
		}
	}
	return h + p.bytes(n)
}
