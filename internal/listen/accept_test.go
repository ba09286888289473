package listen

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"graylane/test/harness"
)

func TestEachConnectionIsServedAndClosed(t *testing.T) {
	set, done := run(t, wholly(func(conn net.Conn, dst netip.AddrPort) {
		if dst.IsValid() {
			t.Errorf("got destination %v, want none: nothing redirects here", dst)
		}
		fmt.Fprint(conn, "hello")
	}))
	for range 3 {
		conn, err := net.Dial("tcp", set.Addrs()[0].String())
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(conn)
		if err != nil || string(got) != "hello" {
			t.Errorf("got %q, %v, want hello and a clean end", got, err)
		}
		conn.Close()
	}
	set.StopAccepting()
	mustEnd(t, done)
}

func TestCallersWhoseHandshakeIsDoneAreServedAfterTheStop(t *testing.T) {
	const callers = 20
	set, err := Bind(t.Context(), []string{"127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	var conns []net.Conn
	for range callers { // nobody accepts yet
		conn, err := net.Dial("tcp", set.Addrs()[0].String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		conns = append(conns, conn)
	}
	set.StopAccepting()
	err = set.Run(t.Context(), wholly(func(conn net.Conn, _ netip.AddrPort) { fmt.Fprint(conn, "hello") }))
	if err != nil {
		t.Fatal(err)
	}
	for i, conn := range conns {
		if got, err := io.ReadAll(conn); string(got) != "hello" {
			t.Errorf("caller %d: got %q, %v, want hello", i, got, err)
		}
	}
}

func TestAfterTheStopCallersAreRefused(t *testing.T) {
	set, done := run(t, wholly(func(net.Conn, netip.AddrPort) {}))
	set.StopAccepting()
	mustEnd(t, done)
	if _, err := net.Dial("tcp", set.Addrs()[0].String()); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("got %v, want connection refused", err)
	}
}

func TestTheEndOfTheContextStops(t *testing.T) {
	set, err := Bind(t.Context(), []string{"127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := set.Run(ctx, wholly(func(net.Conn, netip.AddrPort) {})); err != nil {
		t.Errorf("got %v, want nil", err)
	}
}

func TestStoppingLeavesOpenConnectionsAlone(t *testing.T) {
	serving, finish := make(chan struct{}), make(chan struct{})
	set, done := run(t, wholly(func(conn net.Conn, _ netip.AddrPort) {
		close(serving)
		<-finish
		fmt.Fprint(conn, "bye")
	}))
	conn, err := net.Dial("tcp", set.Addrs()[0].String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	<-serving
	set.StopAccepting()
	mustEnd(t, done)
	if got := set.Open(); got != 1 {
		t.Errorf("got %d open connections, want 1", got)
	}
	close(finish)
	if got, _ := io.ReadAll(conn); string(got) != "bye" {
		t.Errorf("got %q, want bye", got)
	}
}

func TestWithARestTheConnectionIsOpenUntilThatIsFinished(t *testing.T) {
	finish := make(chan func(), 1)
	set, done := run(t, func(conn net.Conn, _ netip.AddrPort) Rest {
		return func(finished func()) {
			fmt.Fprint(conn, "hello")
			finish <- finished
		}
	})
	conn, err := net.Dial("tcp", set.Addrs()[0].String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	got := make([]byte, len("hello"))
	if _, err := io.ReadFull(conn, got); err != nil {
		t.Fatal(err)
	}
	finished := <-finish
	set.StopAccepting()
	mustEnd(t, done)
	if got := set.Open(); got != 1 || set.Finished() {
		t.Errorf("got %d open connections, finished: %v, want 1 and not", got, set.Finished())
	}
	finished()
	if got, err := io.ReadAll(conn); err != nil || len(got) > 0 {
		t.Errorf("got %q, %v, want a clean end", got, err)
	}
	if !set.Finished() {
		t.Error("the set has not finished")
	}
}

func TestAPanicEndsItsConnectionAlone(t *testing.T) {
	log := new(lines)
	set, done := runLogging(t, log, wholly(func(conn net.Conn, _ netip.AddrPort) {
		request, _ := io.ReadAll(conn)
		if string(request) == "bad" {
			panic("no such thing")
		}
		fmt.Fprintf(conn, "%s", request)
	}))

	for request, want := range map[string]string{"bad": "", "good": "good"} {
		if got := exchange(t, set.Addrs()[0].String(), request); got != want {
			t.Errorf("%s: got %q, want %q", request, got, want)
		}
	}
	set.StopAccepting()
	mustEnd(t, done)
	harness.WaitFor(t, "no connection is open", func() bool { return set.Open() == 0 })
	if got := set.Panics(); got != 1 {
		t.Errorf("got %d panics counted, want 1", got)
	}
	text := strings.Join(*log, "")
	for _, want := range []string{"no such thing", "TestAPanicEndsItsConnectionAlone", "peer=127.0.0.1:"} {
		if !strings.Contains(text, want) {
			t.Errorf("the log lacks %q: %s", want, text)
		}
	}
}

func TestAcceptingGoesOnAfterAShortage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := new(lines)
		served := make(chan struct{})
		short := &fakeListener{failures: 20, err: syscall.EMFILE, stopped: make(chan struct{})}
		set := newSet([]listener{short}, nil)
		set.Log = slog.New(slog.NewTextHandler(log, nil))
		start := time.Now()
		done := make(chan error, 1)
		go func() {
			done <- set.Run(t.Context(), wholly(func(net.Conn, netip.AddrPort) { close(served) }))
		}()
		<-served

		// 5 + 10 + ... + 640 ms, and then a second each.
		if got, want := time.Since(start), 1275*time.Millisecond+12*time.Second; got != want {
			t.Errorf("got served after %v, want %v", got, want)
		}
		if got, want := len(*log), 3; got != want {
			t.Errorf("got %d log lines in 13 s, want %d:\n%s", got, want, strings.Join(*log, ""))
		}
		set.StopAccepting()
		mustEnd(t, done)
	})
}

func TestAStopEndsTheWaitOfAShortage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		short := &fakeListener{failures: 1 << 30, err: syscall.ENFILE, stopped: make(chan struct{})}
		set := newSet([]listener{short}, nil)
		set.Log = slog.New(slog.DiscardHandler)
		done := make(chan error, 1)
		go func() { done <- set.Run(t.Context(), nil) }()
		time.Sleep(10*time.Second + 500*time.Millisecond) // in the middle of a pause; the clock is fake
		start := time.Now()
		set.StopAccepting()
		mustEnd(t, done)
		if got := time.Since(start); got != 0 {
			t.Errorf("got stopped after %v, want at once", got)
		}
	})
}

func TestADeafListenerStopsTheOthersAndIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		deaf := &fakeListener{failures: 1 << 30, err: syscall.EINVAL, stopped: make(chan struct{})}
		well := &fakeListener{served: true, stopped: make(chan struct{})}
		set := newSet([]listener{well, deaf}, nil)
		err := set.Run(t.Context(), nil)
		if !errors.Is(err, syscall.EINVAL) || !strings.Contains(err.Error(), "127.0.0.1:15006") {
			t.Errorf("got %v, want EINVAL and the address", err)
		}
	})
}

// wholly serves a connection to its end.
func wholly(serve func(net.Conn, netip.AddrPort)) Serve {
	return func(conn net.Conn, dst netip.AddrPort) Rest {
		serve(conn, dst)
		return nil
	}
}

// run starts a Set on a free port of loopback; its log is silent.
func run(t *testing.T, serve Serve) (*Set, <-chan error) {
	t.Helper()
	return runLogging(t, io.Discard, serve)
}

func runLogging(t *testing.T, log io.Writer, serve Serve) (*Set, <-chan error) {
	t.Helper()
	set, err := Bind(t.Context(), []string{"127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(set.Close)
	set.Log = slog.New(slog.NewTextHandler(log, nil))
	done := make(chan error, 1)
	go func() { done <- set.Run(context.Background(), serve) }()
	return set, done
}

func mustEnd(t *testing.T, done <-chan error) {
	t.Helper()
	if err := <-done; err != nil {
		t.Errorf("got %v from Run, want nil", err)
	}
}

func exchange(t *testing.T, addr, request string) string {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, request)
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	reply, _ := io.ReadAll(conn)
	return string(reply)
}

// fakeListener fails a number of times, gives one connection, and then waits.
type fakeListener struct {
	failures int
	err      error
	served   bool
	stopped  chan struct{}
}

func (*fakeListener) SyscallConn() (syscall.RawConn, error) { return nil, errors.ErrUnsupported }

func (l *fakeListener) Accept() (net.Conn, error) {
	if l.failures > 0 {
		l.failures--
		return nil, &net.OpError{Op: "accept", Net: "tcp", Err: l.err}
	}
	if !l.served {
		l.served = true
		ours, _ := net.Pipe()
		return ours, nil
	}
	<-l.stopped
	return nil, context.DeadlineExceeded
}

func (l *fakeListener) SetDeadline(time.Time) error {
	close(l.stopped)
	return nil
}

func (l *fakeListener) Close() error { return nil }
func (l *fakeListener) Addr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.MustParseAddrPort("127.0.0.1:15006"))
}

// lines is what a logger wrote, a record each. The logger serialises the calls.
type lines []string

func (l *lines) Write(p []byte) (int, error) {
	*l = append(*l, string(p))
	return len(p), nil
}
