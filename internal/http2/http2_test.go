package http2

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/netip"
	"net/textproto"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"graylane/internal/http1"
)

// patience is how long a test waits for what takes a moment.
const patience = 20 * time.Second

// handlerFunc is a Handler.
type handlerFunc func(x *Exchange)

func (f handlerFunc) Serve(x *Exchange) { f(x) }

// passing sends every request to o.
func passing(o *Origin) Handler {
	return handlerFunc(func(x *Exchange) {
		if err := x.Send(o); err != nil {
			x.Fail(err)
		}
	})
}

// serve runs a Server on loopback.
func serve(t testing.TB, cfg http1.Config, h Handler) (*Server, string) {
	t.Helper()
	l := listen(t)
	s := NewServer(cfg, h)
	t.Cleanup(s.Close)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go s.ServeConn(conn, netip.AddrPort{})
		}
	}()
	return s, l.Addr().String()
}

func listen(t testing.TB) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// origin runs a server of net/http that speaks h2c.
func origin(t testing.TB, h http.HandlerFunc, options ...func(*http.Server)) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.Config.DisableGeneralOptionsHandler = true
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	for _, set := range options {
		set(s.Config)
	}
	s.Start()
	t.Cleanup(s.Close)
	return s
}

// addrOf is where a server listens.
func addrOf(s *httptest.Server) string { return s.Listener.Addr().String() }

// relayed is the address of a Server before an origin.
func relayed(t testing.TB, h http.HandlerFunc) string {
	t.Helper()
	_, addr := serve(t, http1.Config{}, passing(NewOrigin(addrOf(origin(t, h)), http1.OriginConfig{})))
	return addr
}

// client speaks h2c and adds nothing.
func client(t testing.TB) *http.Transport {
	t.Helper()
	c := &http.Transport{DisableCompression: true, Protocols: new(http.Protocols)}
	c.Protocols.SetUnencryptedHTTP2(true)
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// request makes one of h2c; headers are name, value, name, value.
func request(t testing.TB, method, url string, body io.Reader, headers ...string) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Add(headers[i], headers[i+1])
	}
	return req
}

// do sends a request and reads the reply whole.
func do(t testing.TB, req *http.Request) (*http.Response, string) {
	t.Helper()
	resp, err := client(t).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(body)
}

// call makes a call of gRPC, whose body is no message that matters.
func call(t testing.TB, addr string, headers ...string) *http.Request {
	t.Helper()
	return request(t, http.MethodPost, "http://"+addr+"/shop.Users/Get", strings.NewReader("\x00\x00\x00\x00\x01x"),
		append([]string{"Content-Type", "application/grpc", "Te", "trailers"}, headers...)...)
}

// wantReason fails unless err has the reason.
func wantReason(t *testing.T, err error, reason string) *http1.Error {
	t.Helper()
	e, ok := errors.AsType[*http1.Error](err)
	if !ok || e.Reason != reason {
		t.Fatalf("got %v, want an error with the reason %s", err, reason)
	}
	return e
}

// tracing hears of interim replies.
func tracing(ctx context.Context, f func(code int, header http.Header)) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		Got1xxResponse: func(code int, header textproto.MIMEHeader) error {
			f(code, http.Header(header))
			return nil
		},
	})
}

func contextOf(t testing.TB) (context.Context, context.CancelFunc) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	return ctx, cancel
}

// counting is the Dial of an origin whose connections are counted.
func counting(l net.Listener, n *atomic.Int64) func(context.Context, string) (net.Conn, error) {
	return func(ctx context.Context, _ string) (net.Conn, error) {
		n.Add(1)
		var d net.Dialer
		return d.DialContext(ctx, "tcp", l.Addr().String())
	}
}
