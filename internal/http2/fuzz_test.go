package http2

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"

	"graylane/internal/http1"
)

// fuzzed is how long an input may be: longer ones find nothing that short ones do not.
const fuzzed = 4 << 10

// FuzzFrames has a caller say anything behind its preface. The server stays up, ends
// when the caller does, and sends nothing on that can be read in another way.
func FuzzFrames(f *testing.F) {
	for _, say := range []func(r *raw){
		func(*raw) {},
		func(r *raw) { r.heads(1, true, head("x", "1", "cookie", "a=b", "te", "trailers")...) },
		func(r *raw) {
			r.heads(1, false, head(":method", "POST", "content-length", "3", "trailer", "x-t")...)
			_ = r.WriteData(1, false, []byte("abc"))
			r.heads(1, true, "x-t", "1")
		},
		func(r *raw) { r.heads(1, true, ":method", "CONNECT", ":authority", "users:80") },
		func(r *raw) { r.heads(1, true, head("content_length", "5", "host", "users:80")...) },
		func(r *raw) { r.heads(1, true, head(":path", "*", ":method", "OPTIONS")...) },
		func(r *raw) {
			r.heads(1, false, head("content-type", "application/grpc", "grpc-timeout", "1S")...)
			_ = r.WritePing(false, [8]byte{1})
			_ = r.WriteWindowUpdate(0, 1<<20)
			_ = r.WriteWindowUpdate(1, 1)
			_ = r.WriteRSTStream(1, http2.ErrCodeCancel)
			_ = r.WriteGoAway(0, http2.ErrCodeNo, []byte("bye"))
		},
		func(r *raw) {
			_ = r.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0}, http2.Setting{ID: http2.SettingMaxFrameSize, Val: 1 << 14})
			_ = r.WriteRawFrame(http2.FrameHeaders, http2.FlagHeadersEndStream, 3, []byte{0x82, 0x86, 0x84})
			_ = r.WriteContinuation(3, true, []byte{0x01, 0x01, 'a'})
		},
	} {
		var said bytes.Buffer
		r := &raw{Framer: http2.NewFramer(&said, nil)}
		_ = r.WriteSettings()
		say(r)
		f.Add(said.Bytes())
	}
	f.Fuzz(func(t *testing.T, said []byte) {
		if len(said) <= fuzzed {
			synctest.Test(t, func(t *testing.T) { hearOut(t, said) }) // which ends when every goroutine has
		}
	})
}

// hearOut serves a caller who says something behind its preface, hears nothing, and
// leaves.
func hearOut(t *testing.T, said []byte) {
	o := NewOrigin("origin:80", http1.OriginConfig{Dial: func(context.Context, string) (net.Conn, error) {
		near, far := memoryPair()
		go examine(t, far)
		return near, nil
	}})
	s := NewServer(http1.Config{}, passing(o))
	caller, served := memoryPair()
	_, _ = io.WriteString(caller, http2.ClientPreface)
	_, _ = caller.Write(said)
	go s.ServeConn(served, netip.AddrPort{})
	time.Sleep(time.Minute) // nothing moves any more
	if n := s.Active(); n > 0 {
		t.Errorf("%d requests have not ended", n)
	}
	caller.Close()
	time.Sleep(time.Minute)
	if conns, panics := s.Conns(), s.Panics(); conns+int(panics) > 0 {
		t.Errorf("%d connections are left after the end, and %d panics", conns, panics)
	}
	s.Close()
	o.Close()
}

// examine is an origin that looks at the requests that it gets.
func examine(t *testing.T, conn net.Conn) {
	defer conn.Close()
	if _, err := io.ReadFull(conn, make([]byte, len(http2.ClientPreface))); err != nil {
		return
	}
	r := newRaw(conn)
	r.settle()
	r.serve(func(r *raw, stream uint32, _ int) {
		if err := ambiguous(r.head); err != nil {
			t.Error(err)
		}
		r.heads(stream, true, ":status", "200", "x", "1")
	})
}

// ambiguous says how a request, once it is written as HTTP/1 by who takes every field
// as it is, would be read as another one.
func ambiguous(head *http2.MetaHeadersFrame) error {
	method, path, host := head.PseudoValue("method"), head.PseudoValue("path"), head.PseudoValue("authority")
	var text strings.Builder
	fmt.Fprintf(&text, "%s %s HTTP/1.1\r\nHost: %s\r\n", method, path, host)
	for _, f := range head.RegularFields() {
		fmt.Fprintf(&text, "%s: %s\r\n", f.Name, f.Value)
	}
	text.WriteString("\r\n")
	in := bufio.NewReader(strings.NewReader(text.String()))
	read, err := http.ReadRequest(in)
	if err != nil {
		return fmt.Errorf("%q: %w", text.String(), err)
	}
	fields := 0
	for _, values := range read.Header {
		fields += len(values)
	}
	if len(read.Trailer) > 0 {
		fields++ // Trailer, of which there is one line
	}
	if read.Method != method || read.RequestURI != path || read.Host != host || in.Buffered() > 0 ||
		len(read.TransferEncoding) > 0 || fields != len(head.RegularFields()) {
		return fmt.Errorf("%q was read as %s %s at %s with %v, and %d bytes behind it", text.String(), read.Method, read.RequestURI, read.Host, read.Header, in.Buffered())
	}
	return nil
}
