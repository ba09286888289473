package pods

import (
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"graylane/test/harness"
)

// test/servers has real servers that speak first, and Redis. What they never do is to speak in pieces, or late.

func TestServersThatSpeakFirstInPieces(t *testing.T) {
	p := newPair(t, plainPolicy)
	pieces := []string{"2", "20 ma", "il\r\n"}
	for _, port := range []int{25, 7777} { // one is known, the other is not
		p.serve(t, fmt.Sprintf(":%d", port), func(conn *net.TCPConn) {
			for _, piece := range pieces {
				fmt.Fprint(conn, piece)
				wantRead(t, conn, "+") // so that the next is another packet
			}
		})
		for _, addr := range p.callee.At(port) {
			conn := p.dial(t, addr)
			for _, piece := range pieces {
				wantRead(t, conn, piece)
				send(t, conn, "+")
			}
			if rest, err := io.ReadAll(conn); err != nil || len(rest) > 0 {
				t.Errorf("%s: got %q, %v at the end, want nothing", addr, rest, err)
			}
		}
	}
}

func TestClientsThatSpeakFirst(t *testing.T) {
	p := newPair(t, plainPolicy)
	var accepted atomic.Int64
	p.serve(t, ":6379", func(conn *net.TCPConn) {
		accepted.Add(1)
		_, _ = io.Copy(conn, conn) // ends with its caller
	})
	for _, c := range []struct {
		name   string
		late   bool // it speaks after the server was connected to, as one does who waits for a greeting
		pieces []string
	}{
		{"PostgreSQL's SSLRequest", false, []string{"\x00\x00\x00\x08\x04\xd2\x16\x2f"}},
		{"MQTT", false, []string{"\x10\x0c\x00\x04MQTT\x04\x02"}},
		{"a line", false, []string{"SET a b\r\n"}},
		{"a word, and no more", false, []string{"hello"}},
		{"a word in pieces", false, []string{"he", "llo\r\n"}},
		{"Redis, byte by byte", false, strings.Split("*1\r\n$4\r\nPING\r\n", "")},
		{"Redis, late", true, []string{"*1\r\n$4\r\nPING\r\n"}},
		{"a word, late", true, []string{"hello"}},
	} {
		for _, addr := range p.callee.At(6379) {
			before := accepted.Load()
			conn := p.dial(t, addr)
			if c.late {
				harness.WaitFor(t, "the server is connected to", func() bool { return accepted.Load() > before })
			}
			begin := time.Now()
			for _, piece := range c.pieces {
				send(t, conn, piece)
				wantRead(t, conn, piece)
			}
			if took := time.Since(begin); took > 5*time.Second { // half of what bytes that may become HTTP are waited for
				t.Errorf("%s to %s: the answer took %v", c.name, addr, took)
			}
		}
	}
}
