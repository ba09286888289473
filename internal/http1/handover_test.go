package http1

import (
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"

	"graylane/test/harness"
)

func TestHTTP2IsHandedOnWithEveryByte(t *testing.T) {
	handed := make(chan string, 1)
	var s *Server
	s = NewServer(Config{HTTP2: func(c net.Conn, _ netip.AddrPort) {
		defer c.Close()
		all, err := io.ReadAll(c)
		if err != nil {
			t.Errorf("reading: %v", err)
		}
		if got := s.Active(); got != 0 {
			t.Errorf("got %d requests in flight, want none", got)
		}
		handed <- string(all)
	}}, handlerFunc(func(x *Exchange) { x.Reply(200, "", "HTTP/1") }))
	t.Cleanup(s.Close)
	for _, parts := range [][]string{
		{preface + "frames"},
		{"P", "RI * HTTP/2.0\r\n\r\n", "SM\r\n\r\n", "frames"},
		{preface[:len(preface)-1], "\n" + "frames"},
	} {
		near, far := connected(t)
		server, err := newWire(far, &buffers{})
		if err != nil {
			t.Fatal(err)
		}
		go s.ServeConn(far, netip.AddrPort{})
		for _, part := range parts {
			_, _ = io.WriteString(near, part)
			harness.WaitFor(t, "it was read", server.quiet) // so that the parts come one by one
		}
		_ = near.CloseWrite()
		if got, want := <-handed, preface+"frames"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	for _, request := range []string{"PRIME / HTTP/1.1\r\nHost: a\r\n\r\n", "P / HTTP/1.1\r\nHost: a\r\n\r\n"} {
		near, far := connected(t)
		go s.ServeConn(far, netip.AddrPort{})
		_, _ = io.WriteString(near, request)
		reply := make([]byte, 15)
		if _, err := io.ReadFull(near, reply); err != nil || !strings.HasPrefix(string(reply), "HTTP/1.1 200") {
			t.Errorf("%q: got %q, %v, want it answered as HTTP/1", request, reply, err)
		}
	}
}

// connected is both ends of a connection.
func connected(t testing.TB) (near, far *net.TCPConn) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	near = dial(t, ln.Addr().String()).Conn.(*net.TCPConn)
	c, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	return near, c.(*net.TCPConn)
}

func TestHTTP2WithoutAServerIsRefused(t *testing.T) {
	_, addr := serve(t, Config{}, handlerFunc(func(x *Exchange) { x.Reply(200, "", "") }))
	conn := dial(t, addr).Conn
	_, _ = io.WriteString(conn, preface)
	reply := make([]byte, 15)
	if _, err := io.ReadFull(conn, reply); err != nil || strings.HasPrefix(string(reply), "HTTP/1.1 2") {
		t.Errorf("got %q, %v, want an error in HTTP/1", reply, err)
	}
}
