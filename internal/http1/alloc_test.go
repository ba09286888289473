package http1

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
)

// echoing is an origin that answers requests of exactly n bytes with reply, and allocates nothing.
func echoing(t testing.TB, n int, reply []byte) *Origin {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				in := make([]byte, n)
				for {
					if _, err := io.ReadFull(c, in); err != nil {
						return
					}
					if _, err := c.Write(reply); err != nil {
						return
					}
				}
			}()
		}
	}()
	return NewOrigin(ln.Addr().String(), OriginConfig{})
}

// marking edits every request as a sidecar does.
func marking(o *Origin) Handler {
	gray, trace := []byte("base"), []byte("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	return handlerFunc(func(x *Exchange) {
		if x.Req.Get("X-Gray") == nil {
			x.Req.Set("X-Gray", gray)
		}
		if x.Req.Get("traceparent") == nil {
			x.Req.Set("traceparent", trace)
		}
		if err := x.Send(o); err != nil {
			x.Fail(err)
		}
	})
}

const added = "X-Gray: base\r\ntraceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\n"

// exchanger returns a function that does one exchange through a relay, with a body of size bytes in
// the direction that is asked for.
func exchanger(t testing.TB, request, reply string) func() {
	o := echoing(t, len(request)+len(added), []byte(reply))
	_, addr := serve(t, Config{}, marking(o))
	c := dial(t, addr).Conn
	in, out := make([]byte, len(reply)), []byte(request)
	return func() {
		if _, err := c.Write(out); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(c, in); err != nil {
			t.Fatal(err)
		}
		if !bytes.HasPrefix(in, []byte("HTTP/1.1 200")) {
			t.Fatalf("got %q", in)
		}
	}
}

const typicalHead = "Host: shop.example\r\nUser-Agent: curl/8.5.0\r\nAccept: */*\r\nAccept-Encoding: gzip, deflate\r\nCookie: session=0123456789abcdef; theme=dark\r\nX-Request-Id: 5f6b1c2e-0000-4000-8000-000000000001\r\n"

func TestAllocatesNothing(t *testing.T) {
	for _, size := range []int{0, 1, 1 << 10, 8 << 10, 64 << 10} {
		body := strings.Repeat("b", size)
		chunked := fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", max(size, 1), strings.Repeat("b", max(size, 1)))
		sized := fmt.Sprintf("Content-Length: %d\r\n\r\n%s", size, body)
		const get, post, ok = "GET /a/b?c=d HTTP/1.1\r\n" + typicalHead, "POST /a/b?c=d HTTP/1.1\r\n" + typicalHead, "HTTP/1.1 200 OK\r\nDate: Mon, 30 Nov 2026 05:00:00 GMT\r\nContent-Type: text/plain\r\n"
		for name, exchange := range map[string]func(){
			"of the reply":            exchanger(t, get+"\r\n", ok+sized),
			"of the request":          exchanger(t, post+sized, ok+"Content-Length: 0\r\n\r\n"),
			"of both":                 exchanger(t, post+sized, ok+sized),
			"of the reply, chunked":   exchanger(t, get+"\r\n", ok+chunked),
			"of the request, chunked": exchanger(t, post+chunked, ok+"Content-Length: 0\r\n\r\n"),
		} {
			for range 50 {
				exchange() // pools fill, buffers grow
			}
			if n := testing.AllocsPerRun(200, exchange); n != 0 && !racing {
				t.Errorf("body of %d bytes %s: %v allocations per exchange, want 0", size, name, n)
			}
		}
	}
}
