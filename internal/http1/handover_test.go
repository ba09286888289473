package http1

import (
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"
)

func TestHTTP2IsHandedOnWithEveryByte(t *testing.T) {
	handed := make(chan string, 1)
	s, addr := serve(t, Config{HTTP2: func(c net.Conn, _ netip.AddrPort) {
		defer c.Close()
		all, err := io.ReadAll(c)
		if err != nil {
			t.Errorf("reading: %v", err)
		}
		handed <- string(all)
	}}, handlerFunc(func(x *Exchange) { x.Reply(200, "", "HTTP/1") }))
	for _, parts := range [][]string{
		{preface + "frames"},
		{"P", "RI * HTTP/2.0\r\n\r\n", "SM\r\n\r\n", "frames"},
		{preface[:len(preface)-1], "\n" + "frames"},
	} {
		conn := dial(t, addr).Conn
		for _, part := range parts {
			if _, err := io.WriteString(conn, part); err != nil {
				t.Fatal(err)
			}
			time.Sleep(5 * time.Millisecond) // so that the parts come one by one
		}
		_ = conn.(*net.TCPConn).CloseWrite()
		if got, want := <-handed, preface+"frames"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	for _, request := range []string{"PRIME / HTTP/1.1\r\nHost: a\r\n\r\n", "P / HTTP/1.1\r\nHost: a\r\n\r\n"} {
		conn := dial(t, addr).Conn
		_, _ = io.WriteString(conn, request)
		reply := make([]byte, 15)
		if _, err := io.ReadFull(conn, reply); err != nil || !strings.HasPrefix(string(reply), "HTTP/1.1 200") {
			t.Errorf("%q: got %q, %v, want it answered as HTTP/1", request, reply, err)
		}
	}
	if got := s.Active(); got != 0 {
		t.Errorf("got %d requests in flight, want none", got)
	}
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
