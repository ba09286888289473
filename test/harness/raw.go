package harness

import (
	"bytes"
	"io"
	"net"
	"runtime/debug"
	"testing"
)

// RawOrigin answers every request that has no body with the same bytes, and allocates nothing for it, so that a test
// can count what the code between a RawCaller and it allocates. It gives its address.
func RawOrigin(t testing.TB, reply string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	Must(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go answer(conn, []byte(reply))
		}
	}()
	return l.Addr().String()
}

func answer(conn net.Conn, reply []byte) {
	defer conn.Close()
	head, end := make([]byte, 8<<10), []byte("\r\n\r\n")
	for n := 0; ; {
		more, err := conn.Read(head[n:])
		if err != nil {
			return
		}
		if n += more; !bytes.HasSuffix(head[:n], end) {
			continue
		}
		if _, err := conn.Write(reply); err != nil {
			return
		}
		n = 0
	}
}

// RawCaller gives a function that sends the same request on one connection and wants the same bytes in answer, and
// allocates nothing for it.
func RawCaller(t testing.TB, address, request, reply string) func() {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	Must(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	out, want, in := []byte(request), []byte(reply), make([]byte, len(reply))
	return func() {
		if _, err := conn.Write(out); err != nil {
			t.Fatal(err)
		}
		if n, err := io.ReadFull(conn, in); err != nil || !bytes.Equal(in, want) {
			t.Fatalf("got %q, %v, want %q", in[:n], err, want)
		}
	}
}

// WantNoAllocs sends the request again and again, and wants all that is between a RawCaller and a RawOrigin in this
// process to allocate nothing for it, once pools and buffers are full. The race detector allocates itself.
func WantNoAllocs(t testing.TB, address, request, reply string) {
	t.Helper()
	exchange := RawCaller(t, address, request, reply)
	for range 100 {
		exchange()
	}
	// A collection empties the pools.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	if got := testing.AllocsPerRun(500, exchange); got != 0 {
		t.Errorf("%v allocations per request, want 0", got)
	}
}
