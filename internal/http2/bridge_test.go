package http2

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"graylane/internal/http1"
	"graylane/test/harness"
)

// bridged is the address of an HTTP/1 server before an origin of HTTP/2, and what
// became of its requests.
func bridged(t testing.TB, addr string, cfg http1.OriginConfig) (at string, errs chan error) {
	t.Helper()
	errs = make(chan error, 10)
	o := http1.NewOrigin(addr, NewOrigin(addr, cfg).HTTP1Config(cfg))
	return serveHTTP1(t, func(x *http1.Exchange) {
		err := x.Send(o)
		if err != nil {
			x.Fail(err)
		}
		errs <- err
	}), errs
}

// serveHTTP1 is the address of a server of HTTP/1.
func serveHTTP1(t testing.TB, h http1Handler) string {
	t.Helper()
	s := http1.NewServer(http1.Config{}, h)
	t.Cleanup(s.Close)
	l := listen(t)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go s.ServeConn(conn, netip.AddrPort{})
		}
	}()
	return l.Addr().String()
}

type http1Handler func(x *http1.Exchange)

func (f http1Handler) Serve(x *http1.Exchange) { f(x) }

// say sends a request as it is written, and gives the reply.
func say(t testing.TB, addr, request string) *http.Response {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(patience))
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	method, _, _ := strings.Cut(request, " ")
	resp, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

func text(t testing.TB, resp *http.Response) string {
	t.Helper()
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func TestHTTP1GoesOnAsHTTP2(t *testing.T) {
	var got *http.Request
	addr, errs := bridged(t, addrOf(origin(t, func(w http.ResponseWriter, r *http.Request) {
		got = r
		body, _ := io.ReadAll(r.Body)
		w.Header()["Date"], w.Header()["Content-Type"] = nil, nil
		w.Header().Add("Set-Cookie", "a")
		w.Header().Add("Set-Cookie", "b")
		w.WriteHeader(http.StatusCreated)
		flush(w) // so that there is no Content-Length, beside which HTTP/1 has no trailers
		fmt.Fprintf(w, "%s, %s", body, body)
		w.Header().Set(http.TrailerPrefix+"X-T", "1")
	})), http1.OriginConfig{})
	for _, request := range []string{
		"POST //a/%2e/b?c=%20 HTTP/1.1\r\nHost: users:80\r\nX-Dup: 1\r\nx-dup: 2\r\nConnection: keep-alive\r\nContent-Length: 4\r\n\r\nbody",
		"POST //a/%2e/b?c=%20 HTTP/1.1\r\nHost: users:80\r\nX-Dup: 1\r\nx-dup: 2\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n",
		"POST //a/%2e/b?c=%20 HTTP/1.1\r\nHost: users:80\r\nX-Dup: 1\r\nx-dup: 2\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\nbody",
	} {
		resp := say(t, addr, request)
		if resp.StatusCode == http.StatusContinue {
			continue
		}
		if body := text(t, resp); resp.StatusCode != 201 || body != "body, body" || resp.Header.Get("Date") != "" {
			t.Errorf("got %d with %q and %v", resp.StatusCode, body, resp.Header)
		}
		if got := resp.Header["Set-Cookie"]; !slices.Equal(got, []string{"a", "b"}) || resp.Trailer.Get("X-T") != "1" {
			t.Errorf("got cookies %q and trailers %v", got, resp.Trailer)
		}
		if got.Proto != "HTTP/2.0" || got.Host != "users:80" || got.RequestURI != "//a/%2e/b?c=%20" || !slices.Equal(got.Header["X-Dup"], []string{"1", "2"}) {
			t.Errorf("the origin got %s %s at %s with %v", got.Proto, got.RequestURI, got.Host, got.Header)
		}
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

// net/http, which reads the far end of a bridge, would refuse some of this as a server
// of HTTP/1, and add to some.
func TestHTTP1GoesOnAsItWasSent(t *testing.T) {
	for name, tt := range map[string]struct {
		target, line, body, want string
	}{
		"a broken escape":                 {target: "/%zz/%?%"},
		"an escape at the end":            {target: "/a%2"},
		"a colon where no scheme is":      {target: "/:a//b:c"},
		"bytes of no character":           {target: "/\xff\xfe"},
		"an expectation that nobody has":  {line: "Expect: the-unexpected", want: "expect: the-unexpected"},
		"what is Cache-Control of old":    {line: "Pragma: no-cache", want: "pragma: no-cache"},
		"a trailer that does not come":    {line: "Trailer: X-T", want: "trailer: X-T"},
		"a trailer that comes":            {line: "Trailer: X-T\r\nTransfer-Encoding: chunked", body: "0\r\nX-T: 1\r\n\r\n", want: "trailer: X-T"},
		"what HTTP/2 has not":             {line: "X: 1\r\nConnection: Upgrade\r\nUpgrade: websocket"},
		"a name with all sorts of letter": {line: "x!#$%&'*+-.^_`|~1: 2", want: "x!#$%&'*+-.^_`|~1: 2"},
	} {
		t.Run(name, func(t *testing.T) {
			tt.target = cmp.Or(tt.target, "/")
			got := make(chan string, 1)
			addr, _ := bridged(t, rawOrigin(t, func(r *raw, stream uint32, _ int) {
				lines := r.head.PseudoValue("path")
				for _, f := range r.head.RegularFields() {
					lines += "\n" + f.Name + ": " + f.Value
				}
				got <- lines
				r.heads(stream, true, ":status", "204")
			}), http1.OriginConfig{})
			resp := say(t, addr, "GET "+tt.target+" HTTP/1.1\r\n"+cmp.Or(tt.line, "X: 1")+"\r\nHost: a\r\n\r\n"+tt.body)
			defer resp.Body.Close()
			if resp.StatusCode != http.StatusNoContent {
				t.Fatalf("got %d, want what the origin answers", resp.StatusCode)
			}
			if got, want := <-got, tt.target+"\n"+cmp.Or(tt.want, "x: 1"); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

func TestACallerOfHTTP1IsToldToSendItsBody(t *testing.T) {
	addr, _ := bridged(t, rawOrigin(t, func(*raw, uint32, int) {}), http1.OriginConfig{}) // which does not say it
	resp := say(t, addr, "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n")
	if resp.StatusCode != http.StatusContinue {
		t.Errorf("got %d, want 100", resp.StatusCode)
	}
}

func TestACONNECTOfHTTP1GoesOnAsHTTP2(t *testing.T) {
	got := make(chan string, 1)
	addr, _ := bridged(t, rawOrigin(t, func(r *raw, stream uint32, _ int) {
		got <- r.head.PseudoValue("method") + " " + r.head.PseudoValue("authority") + r.head.PseudoValue("path")
		r.heads(stream, true, ":status", "403")
	}), http1.OriginConfig{})
	resp := say(t, addr, "CONNECT users:80 HTTP/1.1\r\nHost: proxy\r\n\r\n")
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusForbidden {
		t.Fatalf("got %d, want what the origin answers", resp.StatusCode)
	}
	if got, want := <-got, "CONNECT users:80"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestHTTP1StreamsBothWaysAsHTTP2(t *testing.T) {
	addr, _ := bridged(t, addrOf(origin(t, func(w http.ResponseWriter, r *http.Request) {
		flush(w)
		for lines := bufio.NewReader(r.Body); ; {
			line, err := lines.ReadString('\n')
			if err != nil {
				return
			}
			_, _ = io.WriteString(w, "got "+line)
			flush(w)
		}
	})), http1.OriginConfig{})
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	_, _ = io.WriteString(conn, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewReader(resp.Body)
	for i := range 10 {
		fmt.Fprintf(conn, "2\r\n%d\n\r\n", i)
		if got, err := lines.ReadString('\n'); err != nil || got != fmt.Sprintf("got %d\n", i) {
			t.Fatalf("got %q, %v after line %d", got, err, i)
		}
	}
	_, _ = io.WriteString(conn, "0\r\n\r\n")
	if rest, err := io.ReadAll(lines); err != nil || len(rest) != 0 {
		t.Errorf("got %q, %v at the end", rest, err)
	}
}

func TestHTTP1IsToldWhatHasGoneWrongBehindTheBridge(t *testing.T) {
	addr, errs := bridged(t, harness.FreeAddress(t), http1.OriginConfig{})
	if resp := say(t, addr, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n"); resp.StatusCode != 502 || resp.Header.Get("X-Graylane-Error") != http1.ConnectRefused {
		t.Errorf("nobody listens: got %d, %v", resp.StatusCode, resp.Header)
	}
	if e := wantReason(t, <-errs, http1.ConnectRefused); !e.Retryable {
		t.Errorf("not retryable: %v", e)
	}
	addr, _ = bridged(t, rawOrigin(t, func(r *raw, stream uint32, _ int) {
		r.heads(stream, false, ":status", "200")
		_ = r.WriteData(stream, false, []byte("half"))
		r.end()
	}), http1.OriginConfig{})
	resp := say(t, addr, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	defer resp.Body.Close()
	if body, err := io.ReadAll(resp.Body); err == nil {
		t.Errorf("got %q as a whole reply", body)
	}
}

// Nobody takes the rest of a request that was answered early.
func TestABridgeEndsWithTheReply(t *testing.T) {
	app := origin(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
	addr, errs := bridged(t, addrOf(app), http1.OriginConfig{})
	resp := say(t, addr, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\nsome")
	if resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("got %d, want 401", resp.StatusCode)
	}
	select {
	case <-errs:
	case <-time.After(patience):
		t.Error("the exchange waits for the rest of the request")
	}
}

// The request is sent elsewhere then. Who is late must not be taken for a caller who has left.
func TestABridgeThatIsNotMadeInTimeIsNoCallerWhoHasLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := NewOrigin("192.0.2.1:1", http1.OriginConfig{Connect: 2 * time.Second, Dial: hanging})
		defer time.Sleep(2 * time.Second) // until the connection is given up
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := o.DialHTTP1(ctx, "")
		if e := wantReason(t, err, http1.ConnectTimeout); !e.Retryable {
			t.Errorf("not retryable: %v", e)
		}
	})
}
