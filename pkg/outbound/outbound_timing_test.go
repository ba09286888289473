//go:build !race

// It times the requests of alloc_test.go, which the race detector has no use for.

package outbound_test

import (
	"io"
	"net"
	"testing"

	"graylane/test/harness"
)

// BenchmarkCall is a call that was decided before, through all steps, over loopback.
func BenchmarkCall(b *testing.B) {
	p := newPod(b, serviceOf("", []string{harness.RawOrigin(b, okReply)}, nil))
	conn, err := net.Dial("tcp", serve(b, p.Outbound))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { conn.Close() })
	request, reply := []byte("GET http://users/v1/users/7?fields=name HTTP/1.1\r\nHost: users\r\n"+usual+"X-Gray: base\r\n"+traced+"\r\n"), make([]byte, len(okReply))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := conn.Write(request); err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadFull(conn, reply); err != nil || string(reply[:12]) != "HTTP/1.1 200" {
			b.Fatalf("got %q, %v", reply, err)
		}
	}
}
