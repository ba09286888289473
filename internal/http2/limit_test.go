package http2

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"graylane/internal/http1"
)

func TestLimitsOfRequests(t *testing.T) {
	reading := addrOf(origin(t, func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }))
	cfg := http1.Config{MaxBody: 1000, MaxHead: 2000}
	_, addr := serve(t, cfg, passing(NewOrigin(reading, http1.OriginConfig{})))
	_, hasty := serve(t, cfg, passing(NewOrigin(reading, http1.OriginConfig{Idle: time.Second})))
	up, down := io.Pipe()
	defer down.Close()
	for _, c := range []struct {
		name   string
		req    *http.Request
		status int
		reason string
	}{
		{"as large as allowed", request(t, http.MethodPost, "http://"+addr+"/", strings.NewReader(strings.Repeat("b", 1000))), 200, ""},
		{"a large body", request(t, http.MethodPost, "http://"+addr+"/", strings.NewReader(strings.Repeat("b", 1001))), 413, http1.BodyTooLarge},
		{"of unknown length", request(t, http.MethodPost, "http://"+addr+"/", io.NopCloser(strings.NewReader(strings.Repeat("b", 5000)))), 413, http1.BodyTooLarge},
		{"a large head", request(t, http.MethodGet, "http://"+addr+"/", nil, "X-Large", strings.Repeat("a", 4000)), 431, http1.HeadTooLarge},
		{"a slow caller", request(t, http.MethodPost, "http://"+hasty+"/", up), 408, http1.CallerTimeout},
	} {
		resp, err := client(t).RoundTrip(c.req)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		resp.Body.Close()
		if resp.StatusCode != c.status || resp.Header.Get("X-Graylane-Error") != c.reason {
			t.Errorf("%s: got %d, %q, want %d, %q", c.name, resp.StatusCode, resp.Header.Get("X-Graylane-Error"), c.status, c.reason)
		}
	}
}

// As with HTTP/1, the limits of a request are for what follows.
func TestTheTimeToConnectIsNotThatOfTheRequest(t *testing.T) {
	const limit = time.Second
	address := addrOf(origin(t, func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }))
	slow := func(ctx context.Context, addr string) (net.Conn, error) {
		<-time.After(2 * limit)
		var d net.Dialer
		return d.DialContext(ctx, "tcp", addr)
	}
	for method, body := range map[string]io.Reader{http.MethodGet: nil, http.MethodPost: strings.NewReader("x")} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			addr, errs := sending(t, address, http1.OriginConfig{Dial: slow, Header: limit, Idle: limit})
			if resp, _ := do(t, request(t, method, "http://"+addr+"/", body)); resp.StatusCode != 200 {
				t.Errorf("got %d, %v, want 200", resp.StatusCode, <-errs)
			}
		})
	}
}

func TestNorIsTheTimeToConnectAnew(t *testing.T) {
	const limit = time.Second
	var dials atomic.Int64
	slow := func(ctx context.Context, addr string) (net.Conn, error) {
		if dials.Add(1) > 1 {
			<-time.After(2 * limit)
		}
		var d net.Dialer
		return d.DialContext(ctx, "tcp", addr)
	}
	leaving := rawServer(t, func(r *raw, n int) {
		r.settle()
		r.serve(func(r *raw, stream uint32, _ int) {
			if n == 0 {
				_ = r.WriteGoAway(0, http2.ErrCodeNo, nil)
				return
			}
			r.heads(stream, true, ":status", "200")
		})
	})
	addr, errs := sending(t, leaving, http1.OriginConfig{Dial: slow, Connect: 10 * limit, Header: limit, Idle: limit})
	if resp, _ := do(t, request(t, http.MethodGet, "http://"+addr+"/", nil)); resp.StatusCode != 200 {
		t.Errorf("got %d, %v, want 200", resp.StatusCode, <-errs)
	}
}
