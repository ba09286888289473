package http2

import (
	"io"
	"net"
	"net/http"
	"testing"

	"graylane/internal/http1"
	"graylane/test/harness"
)

func TestTunnel(t *testing.T) {
	l := listen(t)
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		all, _ := io.ReadAll(conn)
		_, _ = conn.Write(append([]byte("got "), all...))
	}()
	_, addr := serve(t, http1.Config{}, handlerFunc(func(x *Exchange) {
		if err := x.Tunnel(NewOrigin(string(x.Req.Authority()), http1.OriginConfig{})); err != nil {
			x.Fail(err)
		}
	}))
	up, down := io.Pipe()
	req := request(t, http.MethodConnect, "http://"+addr, up)
	req.Host = l.Addr().String()
	resp, err := client(t).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(down, "bytes")
	down.Close()
	if got := text(t, resp); resp.StatusCode != 200 || got != "got bytes" {
		t.Errorf("got %d with %q, want 200 with what the far end says", resp.StatusCode, got)
	}
	req = request(t, http.MethodConnect, "http://"+addr, http.NoBody)
	req.Host = harness.FreeAddress(t)
	if resp, _ := do(t, req); resp.StatusCode != 502 {
		t.Errorf("nobody listens: got %d, want 502", resp.StatusCode)
	}
	if resp, _ := do(t, request(t, http.MethodGet, "http://"+addr+"/", nil)); resp.StatusCode != 400 {
		t.Errorf("a GET: got %d, want 400", resp.StatusCode)
	}
}

func TestPairLeadsToEachOther(t *testing.T) {
	near, far, err := pair()
	if err != nil {
		t.Fatal(err)
	}
	defer near.Close()
	for _, c := range [][2]net.Conn{{near, far}, {far, near}} {
		got := make([]byte, 1)
		if _, err := c[0].Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		if _, err := c[1].Read(got); err != nil || got[0] != 'x' {
			t.Errorf("got %q, %v", got, err)
		}
	}
	far.Close()
	if _, err := near.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("after the other end was closed: got %v, want EOF", err)
	}
}
