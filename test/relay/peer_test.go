package relay

import (
	"bufio"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"graylane/test/harness"
)

// soon is the limit for what is claimed to take 100 ms. Tests hold the other side back until the bytes have come, so
// that a relay that waits for it fails whatever the limit; the rest is room for a loaded machine.
const soon = 5 * time.Second

// peer is one end of a connection, used as bytes.
type peer struct {
	net.Conn
	t testing.TB
	r *bufio.Reader
}

func newPeer(t testing.TB, c net.Conn) *peer {
	p := &peer{Conn: c, t: t, r: bufio.NewReaderSize(c, 16<<10)}
	p.giveTime(harness.Patience)
	return p
}

// giveTime limits everything that is done from now on; an end of time shows as an end of the connection.
func (p *peer) giveTime(d time.Duration) { _ = p.SetDeadline(time.Now().Add(d)) } // fails only on what is closed

func dial(t testing.TB, address string) *peer {
	t.Helper()
	c, err := net.DialTimeout("tcp", address, harness.Patience)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return newPeer(t, c)
}

// say writes text. That the other side has gone shows in what it answered, or did not.
func (p *peer) say(text string) { _, _ = io.WriteString(p, crlf(text)) }

func crlf(s string) string { return strings.ReplaceAll(s, "⏎", "\r\n") }

func visible(s string) string { return strings.ReplaceAll(s, "\r\n", "⏎") }

// line reads one line with its end.
func (p *peer) line() string {
	s, _ := p.r.ReadString('\n')
	return visible(s)
}

// head reads a head with its empty line, less if the connection ends before.
func (p *peer) head() string {
	var b strings.Builder
	for {
		l := p.line()
		b.WriteString(l)
		if l == "⏎" || !strings.HasSuffix(l, "⏎") && !strings.HasSuffix(l, "\n") {
			return b.String()
		}
	}
}

// bytes reads n bytes, less if the connection ends before.
func (p *peer) bytes(n int64) string {
	var b strings.Builder
	_, _ = io.CopyN(&b, p.r, n)
	return visible(b.String())
}

// getsSomething waits so long for bytes. It looks once more before it gives up: on a loaded machine time is over while
// they lie there.
func (p *peer) getsSomething(within time.Duration) bool {
	if p.SetReadDeadline(time.Now().Add(within)) != nil {
		return false
	}
	_, err := p.r.Peek(1)
	found := err == nil || isTimeout(err) && p.has()
	p.giveTime(harness.Patience)
	return found
}

// has says that bytes lie there.
func (p *peer) has() (found bool) {
	p.control(func(fd int) {
		var b [1]byte
		n, _, _ := syscall.Recvfrom(fd, b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		found = n > 0
	})
	return found
}

// hangsUp ends both directions: what comes from now on is refused. It says whether something had come by then, of which
// nobody can know whether it was acted on.
func (p *peer) hangsUp() (had bool) {
	p.control(func(fd int) { _ = syscall.Shutdown(fd, syscall.SHUT_RDWR) }) // fails only on what is closed
	return p.has()
}

func (p *peer) control(f func(fd int)) {
	raw, err := p.Conn.(*net.TCPConn).SyscallConn()
	harness.Must(p.t, err)
	harness.Must(p.t, raw.Control(func(fd uintptr) { f(int(fd)) }))
}

// hears reads what must come next, within soon.
func (p *peer) hears(want string) {
	p.t.Helper()
	begin := time.Now()
	got := p.bytes(int64(len(crlf(want))))
	if took := time.Since(begin); got != want || took > soon {
		p.t.Errorf("after %v:\n got %q\nwant %q within %v", took, got, want, soon)
	}
}

// rest reads to the end of the connection; an error says that it was no regular end.
func (p *peer) rest() (string, error) {
	b, err := io.ReadAll(p.r)
	return visible(string(b)), err
}

// ends wants a regular end of the connection, and nothing before it.
func (p *peer) ends() {
	p.t.Helper()
	if more, err := p.rest(); more != "" || err != nil {
		p.t.Errorf("got %q, %v, want the end of the connection", more, err)
	}
}

// message reads one request, "" at the end of the connection.
func (p *peer) message() string {
	h := p.head()
	switch length, chunked := framing(h); {
	case chunked:
		return h + p.chunks()
	case length > 0:
		return h + p.bytes(length)
	}
	return h
}

// reply reads one reply to a request with that method; a body without a length goes to the end of the connection.
func (p *peer) reply(method string) string {
	h := p.head()
	status := statusOf(h)
	switch length, chunked := framing(h); {
	case h == "" || method == "HEAD" || status == "204" || status == "205" || status == "304" || strings.HasPrefix(status, "1"):
		return h
	case chunked:
		return h + p.chunks()
	case length >= 0:
		return h + p.bytes(length)
	}
	rest, _ := p.rest()
	return h + rest
}

// chunks reads a chunked body as it is written, trailers included.
func (p *peer) chunks() string {
	var b strings.Builder
	for {
		l := p.line()
		b.WriteString(l)
		size, ok := chunkSize(l)
		if !ok {
			return b.String()
		}
		if size == 0 {
			return b.String() + p.head()
		}
		b.WriteString(p.bytes(size + 2))
	}
}
