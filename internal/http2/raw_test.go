package http2

import (
	"bytes"
	"io"
	"net"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// raw is an end of a connection that speaks in frames.
type raw struct {
	net.Conn
	*http2.Framer
	head *http2.MetaHeadersFrame // the last that serve has read
}

func newRaw(conn net.Conn) *raw {
	r := &raw{Conn: conn, Framer: http2.NewFramer(conn, conn)}
	r.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	return r
}

// heads writes a head, or trailers.
func (r *raw) heads(stream uint32, end bool, fields ...string) {
	var block bytes.Buffer
	enc := hpack.NewEncoder(&block)
	for i := 0; i < len(fields); i += 2 {
		_ = enc.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
	}
	_ = r.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: block.Bytes(), EndStream: end, EndHeaders: true})
}

// rawServer is the address of an origin that serves each connection with serve, once
// it has read the preface. n is how many there were before.
func rawServer(t testing.TB, serve func(r *raw, n int)) string {
	t.Helper()
	l := listen(t)
	go func() {
		for n := 0; ; n++ {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				if _, err := io.ReadFull(conn, make([]byte, len(http2.ClientPreface))); err == nil {
					serve(newRaw(conn), n)
				}
			}()
		}
	}()
	return l.Addr().String()
}

// rawOrigin is the address of an origin that calls asked for the head of each
// request, with how many it had on that connection before.
func rawOrigin(t testing.TB, asked func(r *raw, stream uint32, n int)) string {
	t.Helper()
	return rawServer(t, func(r *raw, _ int) {
		r.settle()
		r.serve(asked)
	})
}

// settle sends settings, and takes those of the peer.
func (r *raw) settle(settings ...http2.Setting) {
	_ = r.WriteSettings(settings...)
	_ = r.WriteSettingsAck()
}

// end sends no more. An end with something unread would be a reset, and what was said
// just before it might not be heard.
func (r *raw) end() { _ = r.Conn.(*net.TCPConn).CloseWrite() }

// serve calls asked for the head of each request, until the connection ends.
func (r *raw) serve(asked func(r *raw, stream uint32, n int)) {
	for n, last := 0, uint32(0); ; {
		frame, err := r.ReadFrame()
		if err != nil {
			return
		}
		switch f := frame.(type) {
		case *http2.PingFrame:
			_ = r.WritePing(true, f.Data)
		case *http2.MetaHeadersFrame:
			if f.StreamID <= last {
				continue // trailers
			}
			last, r.head = f.StreamID, f
			asked(r, f.StreamID, n)
			n++
		}
	}
}

// rawCaller has sent its preface and settings.
func rawCaller(t testing.TB, addr string, settings ...http2.Setting) *raw {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
		t.Fatal(err)
	}
	r := newRaw(conn)
	_ = r.WriteSettings(settings...)
	return r
}
