package http2

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/netip"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"

	"graylane/internal/http1"
	"graylane/test/harness"
)

func answering(x *Exchange) { x.Reply(200, "", "ok") }

func TestServerKnowsWhoCallsAndWhere(t *testing.T) {
	var peer, dst netip.AddrPort
	s := NewServer(http1.Config{}, handlerFunc(func(x *Exchange) {
		peer, dst = x.Peer, x.Dst
		answering(x)
	}))
	t.Cleanup(s.Close)
	l := listen(t)
	want := netip.MustParseAddrPort("10.0.0.1:8080")
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		s.ServeConn(conn, want)
	}()
	do(t, request(t, http.MethodGet, "http://"+l.Addr().String()+"/", nil))
	if peer.Addr() != netip.MustParseAddr("127.0.0.1") || peer.Port() == 0 || dst != want {
		t.Errorf("got a caller at %v going to %v, want one at 127.0.0.1 going to %v", peer, dst, want)
	}
}

func TestServerCountsConnectionsAndStreams(t *testing.T) {
	end := make(chan struct{})
	s, addr := serve(t, http1.Config{MaxConns: 3}, handlerFunc(func(x *Exchange) {
		if string(x.Req.Path()) == "/long" {
			<-end
		}
		answering(x)
	}))
	c := client(t)
	if resp, err := c.RoundTrip(request(t, http.MethodHead, "http://"+addr+"/", nil)); err != nil {
		t.Fatal(err)
	} else {
		resp.Body.Close() // from now on there is a connection to share
	}
	harness.WaitFor(t, "no stream", func() bool { return s.Active() == 0 })
	done := make(chan error)
	for range 3 {
		go func() {
			resp, err := c.RoundTrip(request(t, http.MethodGet, "http://"+addr+"/long", nil))
			if err == nil {
				err = resp.Body.Close()
			}
			done <- err
		}()
	}
	harness.WaitFor(t, "three streams", func() bool { return s.Active() == 3 })
	if got := s.Conns(); got != 1 {
		t.Errorf("got %d connections, want 1", got)
	}
	resp, err := c.RoundTrip(request(t, http.MethodGet, "http://"+addr+"/", nil))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != 503 || resp.Header.Get("X-Graylane-Error") != http1.TooManyConns {
		t.Errorf("a stream more than callers are allowed: got %d %v, want 503 for %s", resp.StatusCode, resp.Header, http1.TooManyConns)
	}
	close(end)
	for range 3 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	c.CloseIdleConnections()
	harness.WaitFor(t, "no connection", func() bool { return s.Active() == 0 && s.Conns() == 0 })
}

func TestAConnectionMoreThanAllowedIsClosed(t *testing.T) {
	_, addr := serve(t, http1.Config{MaxConns: 1}, handlerFunc(answering))
	resp, err := client(t).RoundTrip(request(t, http.MethodGet, "http://"+addr+"/", nil))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if _, err := client(t).RoundTrip(request(t, http.MethodGet, "http://"+addr+"/", nil)); err == nil {
		t.Error("a connection more than allowed was served")
	}
}

func TestAHandlerHearsThatTheCallerHasLeft(t *testing.T) {
	for name, leave := range map[string]func(s *Server, r *raw){
		"the stream is reset":  func(_ *Server, r *raw) { _ = r.WriteRSTStream(1, http2.ErrCodeCancel) },
		"the connection ended": func(_ *Server, r *raw) { r.Close() },
		"cut by the Server":    func(s *Server, _ *raw) { s.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			begun, heard := make(chan bool), make(chan bool)
			s, addr := serve(t, http1.Config{}, handlerFunc(func(x *Exchange) {
				begun <- true
				select {
				case <-x.Gone():
					heard <- true
				case <-t.Context().Done():
				}
			}))
			r := rawCaller(t, addr)
			r.heads(1, true, head()...)
			<-begun
			leave(s, r)
			select {
			case <-heard:
			case <-time.After(patience):
				t.Error("the handler waits on")
			}
		})
	}
}

func TestDrainAsksCallersToGoAndLosesNothing(t *testing.T) {
	var conns atomic.Int64
	begun, end := make(chan struct{}), make(chan struct{})
	s, addr := serve(t, http1.Config{CloseOnDrain: true}, handlerFunc(func(x *Exchange) {
		if string(x.Req.Path()) == "/long" {
			close(begun)
			<-end
		}
		answering(x)
	}))
	c := client(t)
	c.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conns.Add(1)
		var d net.Dialer
		return d.DialContext(ctx, network, addr)
	}
	long := make(chan error)
	go func() {
		resp, err := c.RoundTrip(request(t, http.MethodGet, "http://"+addr+"/long", nil))
		if err == nil {
			_, err = io.ReadAll(resp.Body)
			resp.Body.Close()
		}
		long <- err
	}()
	<-begun
	s.Drain()
	s.Drain() // does no more
	// The caller goes on, on new connections, which are asked to go in their turn.
	harness.WaitFor(t, "three connections", func() bool {
		resp, err := c.RoundTrip(request(t, http.MethodGet, "http://"+addr+"/", nil))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		return conns.Load() >= 3
	})
	close(end)
	if err := <-long; err != nil {
		t.Errorf("the request under way: %v", err)
	}
	harness.WaitFor(t, "no connection", func() bool { return s.Conns() == 0 })
}

func TestDrainOfTheAppsSideChangesNothing(t *testing.T) {
	s, addr := serve(t, http1.Config{}, handlerFunc(answering))
	c := client(t)
	for range 2 {
		resp, err := c.RoundTrip(request(t, http.MethodGet, "http://"+addr+"/", nil))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		s.Drain()
	}
	if got := s.Conns(); got != 1 {
		t.Errorf("got %d connections, want the one that there was", got)
	}
}

func TestAnIdleCallerHearsThatTheServerDrains(t *testing.T) {
	s, addr := serve(t, http1.Config{CloseOnDrain: true}, handlerFunc(answering))
	r := rawCaller(t, addr)
	if _, err := r.ReadFrame(); err != nil {
		t.Fatal(err)
	}
	s.Drain()
	for {
		frame, err := r.ReadFrame()
		if err != nil {
			t.Fatalf("got %v, want a GOAWAY before the end", err)
		}
		if f, ok := frame.(*http2.GoAwayFrame); ok {
			if f.ErrCode != http2.ErrCodeNo {
				t.Errorf("got %v, want NO_ERROR", f.ErrCode)
			}
			break
		}
	}
}

// net/http tells those that speak HTTP/2 by then, and nobody who begins to.
func TestWhoIsJustArrivingHearsThatTheServerDrains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewServer(http1.Config{CloseOnDrain: true}, handlerFunc(answering))
		defer s.Close()
		near, far := net.Pipe()
		defer near.Close()
		go s.ServeConn(far, netip.AddrPort{})
		synctest.Wait() // it has been taken, and nothing was read
		s.Drain()
		synctest.Wait()
		_ = near.SetDeadline(time.Now().Add(3 * settling))
		go func() { _, _ = near.Write(greeted) }()
		for r := newRaw(near); ; {
			frame, err := r.ReadFrame()
			if err != nil {
				t.Fatalf("got %v, want a GOAWAY before the end", err)
			}
			if frame.Header().Type == http2.FrameGoAway {
				return
			}
		}
	})
}

func TestCloseCutsWhatIsLeft(t *testing.T) {
	s, addr := serve(t, http1.Config{}, handlerFunc(func(x *Exchange) { <-x.Req.http.Context().Done() }))
	failed := make(chan error)
	go func() {
		resp, err := client(t).RoundTrip(request(t, http.MethodGet, "http://"+addr+"/", nil))
		if err == nil {
			resp.Body.Close()
		}
		failed <- err
	}()
	harness.WaitFor(t, "a stream", func() bool { return s.Active() == 1 })
	s.Close()
	if err := <-failed; err == nil {
		t.Error("the request was answered")
	}
	harness.WaitFor(t, "no connection", func() bool { return s.Conns() == 0 && s.Active() == 0 })
	if _, err := client(t).RoundTrip(request(t, http.MethodGet, "http://"+addr+"/", nil)); err == nil {
		t.Error("a connection after the end was served")
	}
}

func TestWhatIsNoHTTP2IsClosed(t *testing.T) {
	s, addr := serve(t, http1.Config{HeadTimeout: 100 * time.Millisecond}, handlerFunc(answering))
	for _, bytes := range []string{"", "PRI * HT", "GET / HTTP/1.1\r\nHost: a\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nnonsense that is no frame at all"} {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(conn, bytes)
		_ = conn.SetReadDeadline(time.Now().Add(patience))
		if got, err := io.ReadAll(conn); err != nil && got == nil {
			t.Errorf("%q: %v", bytes, err)
		}
		conn.Close()
	}
	harness.WaitFor(t, "no connection", func() bool { return s.Conns() == 0 })
}
