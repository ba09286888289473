package upstream_test

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"graylane/internal/http1"
	"graylane/internal/http2"
	"graylane/internal/upstream"
)

// sendTo is a Handler that sends every request to one address of a version.
type sendTo struct{ group *upstream.Group }

func (s sendTo) Serve(x upstream.Exchange) {
	pick := s.group.Pick(0)
	if err := x.Send(pick.Next(time.Now()).Origin(x.Head().Authority())); err != nil {
		x.Fail(err)
	}
}

// A request arrives in the protocol in which it came; one of HTTP/1 is sent as
// HTTP/2 where the version says so, and none of HTTP/2 is ever sent as HTTP/1.
func TestWhichProtocolARequestIsSentIn(t *testing.T) {
	app := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = io.WriteString(w, r.Proto+" "+string(body))
	}))
	app.Config.Protocols = protocols(true, true)
	app.Start()
	t.Cleanup(app.Close)
	old := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(old.Close)
	for _, c := range []struct {
		addr                string
		protocol, ofVersion string
		http2               bool
		want                string
	}{
		{app.Listener.Addr().String(), "", "", false, "200 HTTP/1.1 body"},
		{app.Listener.Addr().String(), "", "", true, "200 HTTP/2.0 body"},
		{app.Listener.Addr().String(), "", upstream.ProtocolHTTP1, false, "200 HTTP/1.1 body"},
		{app.Listener.Addr().String(), "", upstream.ProtocolH2C, false, "200 HTTP/2.0 body"},
		{app.Listener.Addr().String(), "", upstream.ProtocolH2C, true, "200 HTTP/2.0 body"},
		{app.Listener.Addr().String(), upstream.ProtocolH2C, "", false, "200 HTTP/2.0 body"},
		{app.Listener.Addr().String(), upstream.ProtocolH2C, upstream.ProtocolHTTP1, false, "200 HTTP/2.0 body"},
		{app.Listener.Addr().String(), upstream.ProtocolHTTP1, upstream.ProtocolH2C, false, "200 HTTP/1.1 body"},
		{app.Listener.Addr().String(), upstream.ProtocolHTTP1, upstream.ProtocolH2C, true, "200 HTTP/2.0 body"},
		{old.Listener.Addr().String(), "", "", true, "502 the origin sent something that is not a valid reply"},
	} {
		table := upstream.NewTable(http1.OriginConfig{})
		group := table.Begin().Group(upstream.Version{Service: "users", Tag: "base", Targets: []upstream.Target{{Address: c.addr, Weight: 1, Protocol: c.protocol}}, Protocol: c.ofVersion})
		addr := both(t, sendTo{group})
		client := http.Client{Transport: &http.Transport{Protocols: protocols(!c.http2, c.http2)}}
		resp, err := client.Post("http://"+addr+"/", "text/plain", strings.NewReader("body"))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		client.CloseIdleConnections()
		if got := resp.Status[:4] + string(body); err != nil || !strings.HasPrefix(got, c.want) {
			t.Errorf("%+v: got %q, %v", c, got, err)
		}
	}
}

// both serves HTTP/1 and HTTP/2 at one address.
func both(t *testing.T, h upstream.Handler) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	newer := http2.NewServer(http1.Config{}, upstream.HTTP2(h))
	older := http1.NewServer(http1.Config{HTTP2: newer.ServeConn}, upstream.HTTP1(h))
	t.Cleanup(func() { l.Close(); older.Close(); newer.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go older.ServeConn(conn, netip.AddrPort{})
		}
	}()
	return l.Addr().String()
}

func protocols(http1, h2c bool) *http.Protocols {
	p := new(http.Protocols)
	p.SetHTTP1(http1)
	p.SetUnencryptedHTTP2(h2c)
	return p
}
