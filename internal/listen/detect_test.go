package listen

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"graylane/test/harness"
)

// never is a time that does not come in a test.
const never = time.Hour

// eager gives up at once on what cannot be told, and never otherwise.
func eager() *Detector {
	return &Detector{Silence: time.Nanosecond, Doubt: time.Nanosecond, Patience: never}
}

// patient never gives up and never asks the origin.
func patient() *Detector { return &Detector{Silence: never, Doubt: never, Patience: never} }

// detected is what Detect gave.
type detected struct {
	Finding
	err error
}

func detect(t testing.TB, d *Detector, conn *net.TCPConn, dial Dial) <-chan detected {
	t.Helper()
	result := make(chan detected, 1)
	go func() {
		f, err := d.Detect(t.Context(), conn, nil, 80, dial)
		result <- detected{f, err}
	}()
	return result
}

func await(t testing.TB, result <-chan detected) detected {
	t.Helper()
	select {
	case got := <-result:
		if got.Origin != nil {
			t.Cleanup(func() { got.Origin.Close() })
		}
		return got
	case <-time.After(patience):
		t.Fatal("nothing was detected")
		return detected{}
	}
}

func write(t testing.TB, conn net.Conn, bytes string) {
	t.Helper()
	if _, err := io.WriteString(conn, bytes); err != nil {
		t.Fatal(err)
	}
}

// arrived waits until so many bytes wait in the socket.
func arrived(t testing.TB, conn *net.TCPConn, want int) {
	t.Helper()
	raw, err := conn.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	harness.WaitFor(t, "the bytes have arrived", func() bool {
		n := 0
		if err := raw.Control(func(fd uintptr) { n, _ = peek(int(fd), make([]byte, want+1)) }); err != nil {
			t.Fatal(err)
		}
		return n == want
	})
}

func TestDetectingLosesNothing(t *testing.T) {
	for _, c := range []struct {
		bytes string
		want  Protocol
	}{
		{"GET / HTTP/1.1\r\nHost: a\r\n\r\n", HTTP1},
		{"GET /" + strings.Repeat("a", maxLine) + " HTTP/1.1\r\n", HTTP1},
		{preface + "\x00\x00\x00\x04\x00\x00\x00\x00\x00", H2C},
		{"hello\nworld", TCP},
		{string(hello(t, &tls.Config{ServerName: "users"})), TLS},
		{string(cut(hello(t, &tls.Config{ServerName: "users"}), 100)), TLS},
	} {
		for _, size := range []int{1, 7, len(c.bytes)} {
			ours, theirs := connected(t)
			result := detect(t, patient(), ours, nil)
			go func() {
				for part := range slicesOf([]byte(c.bytes), size) {
					write(t, theirs, string(part))
				}
				theirs.CloseWrite()
			}()
			got := await(t, result)
			if got.err != nil || got.Protocol != c.want {
				t.Errorf("%.20q in parts of %d: got %v, %v, want %v", c.bytes, size, got.Protocol, got.err, c.want)
			}
			if c.want == TLS && got.ServerName != "users" {
				t.Errorf("%.20q in parts of %d: got name %q, want users", c.bytes, size, got.ServerName)
			}
			if rest, err := io.ReadAll(ours); err != nil || string(rest) != c.bytes {
				t.Errorf("%.20q in parts of %d: read %.60q, %v", c.bytes, size, rest, err)
			}
		}
	}
}

// Of a tunnel the first bytes may have come with the CONNECT.
func TestWhatWasReadBeforeCounts(t *testing.T) {
	for _, c := range []struct {
		bytes string
		want  Protocol
	}{
		{"GET / HTTP/1.1\r\nHost: a\r\n\r\n", HTTP1},
		{"GET /" + strings.Repeat("a", smallPeek) + " HTTP/1.1\r\n", HTTP1},
		{preface + "\x00\x00\x00\x04\x00\x00\x00\x00\x00", H2C},
		{"hello\nworld", TCP},
		{"hello" + strings.Repeat(" ", 2*maxPeek), HTTP1}, // such a long line is for the server to refuse
		{string(hello(t, &tls.Config{ServerName: "users"})), TLS},
		{"", TCP},
		{"GET", TCP},
	} {
		for _, read := range []int{0, 1, 7, smallPeek, maxPeek, len(c.bytes)} {
			read = min(read, len(c.bytes))
			ours, theirs := connected(t)
			go func() {
				write(t, theirs, c.bytes[read:])
				theirs.CloseWrite()
			}()
			f, err := patient().Detect(t.Context(), ours, []byte(c.bytes[:read]), 80, nil)
			if err != nil || f.Protocol != c.want {
				t.Errorf("%.20q, of which %d were read: got %v, %v, want %v", c.bytes, read, f.Protocol, err, c.want)
			}
			if c.want == TLS && f.ServerName != "users" {
				t.Errorf("%.20q, of which %d were read: got name %q, want users", c.bytes, read, f.ServerName)
			}
			if rest, err := io.ReadAll(ours); err != nil || string(rest) != c.bytes[read:] {
				t.Errorf("%.20q, of which %d were read: then read %.60q, %v", c.bytes, read, rest, err)
			}
		}
	}
}

func TestWhatCannotBeToldIsSettled(t *testing.T) {
	for _, c := range []struct {
		name  string
		d     *Detector
		bytes string
		want  Protocol
	}{
		{"a word that is no method", &Detector{Doubt: time.Nanosecond, Patience: never}, "hello", TCP},
		{"the beginning of a method", &Detector{Doubt: never, Patience: time.Nanosecond}, "PO", HTTP1},
		{"a request line", &Detector{Doubt: never, Patience: time.Nanosecond}, "GET /index HT", HTTP1},
		{"the beginning of the HTTP/2 preface", &Detector{Doubt: never, Patience: time.Nanosecond}, "PRI * HT", HTTP1},
		{"the beginning of a ClientHello", &Detector{Doubt: never, Patience: time.Nanosecond}, "\x16\x03\x01", TCP},
		{"a ClientHello without its end", &Detector{Doubt: never, Patience: time.Nanosecond}, "\x16\x03\x01\x00\x10\x01\x00", TLS},
	} {
		ours, theirs := connected(t)
		write(t, theirs, c.bytes)
		arrived(t, ours, len(c.bytes))
		if got := await(t, detect(t, c.d, ours, nil)); got.err != nil || got.Protocol != c.want {
			t.Errorf("%s: got %v, %v, want %v", c.name, got.Protocol, got.err, c.want)
		}
	}
}

func TestACallerThatEndsSaysNoMore(t *testing.T) {
	for _, bytes := range []string{"", "GET", "GET / HT", "hello", "\x16\x03"} {
		ours, theirs := connected(t)
		result := detect(t, patient(), ours, nil)
		write(t, theirs, bytes)
		arrived(t, ours, len(bytes))
		theirs.CloseWrite()
		if got := await(t, result); got.err != nil || got.Protocol != TCP {
			t.Errorf("%q: got %v, %v, want %v", bytes, got.Protocol, got.err, TCP)
		}
	}
}

func TestACallerThatIsGoneIsAnError(t *testing.T) {
	ours, theirs := connected(t)
	result := detect(t, patient(), ours, nil)
	if err := theirs.SetLinger(0); err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	if got := await(t, result); !errors.Is(got.err, syscall.ECONNRESET) {
		t.Errorf("got %v, want a reset", got.err)
	}
}

func TestOpaquePortsAreNotLookedAt(t *testing.T) {
	ours, _ := connected(t)
	d := patient()
	d.Opaque = []uint16{25, 80}
	if got := await(t, detect(t, d, ours, nil)); got.err != nil || got.Protocol != TCP {
		t.Errorf("got %v, %v, want %v", got.Protocol, got.err, TCP)
	}
}

func TestTheEndOfTheContextEndsTheWait(t *testing.T) {
	ours, _ := connected(t)
	dial, accepted := origin(t)
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan detected, 1)
	go func() {
		f, err := eager().Detect(ctx, ours, nil, 80, dial)
		result <- detected{f, err}
	}()
	<-accepted
	cancel()
	if got := await(t, result); !errors.Is(got.err, context.Canceled) || got.Origin != nil {
		t.Errorf("got %v, connection %v, want the end of the context and none", got.err, got.Origin)
	}
}

func FuzzNothingIsLost(f *testing.F) {
	for _, seed := range []string{"", "GET / HTTP/1.1\r\n\r\n", "hello", preface, "\x16\x03\x01\x00\x03\x01\x00\x00"} {
		f.Add([]byte(seed), uint8(3), true)
	}
	f.Fuzz(func(t *testing.T, p []byte, size uint8, ask bool) {
		ours, theirs := connected(t)
		defer theirs.Close()
		defer ours.Close()
		var dial Dial
		if ask {
			dial = func(ctx context.Context) (*net.TCPConn, error) { <-ctx.Done(); return nil, ctx.Err() }
		}
		result := detect(t, &Detector{Silence: time.Nanosecond, Doubt: time.Millisecond, Patience: time.Millisecond}, ours, dial)
		for part := range slicesOf(p, int(size)+1) {
			write(t, theirs, string(part))
		}
		theirs.CloseWrite()
		if got := await(t, result); got.err != nil {
			t.Error(got.err)
		}
		if rest, err := io.ReadAll(ours); err != nil || !bytes.Equal(rest, p) {
			t.Errorf("read %q, %v, want %q", rest, err, p)
		}
	})
}
