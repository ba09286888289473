package http2

import (
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"graylane/internal/http1"
	"graylane/test/harness"
)

// get sends a request in the background.
func get(t testing.TB, addr string) (status chan int) {
	t.Helper()
	status = make(chan int, 1)
	c, req := client(t), request(t, http.MethodGet, "http://"+addr+"/", nil)
	go func() {
		resp, err := c.RoundTrip(req)
		if err != nil {
			t.Error(err)
			status <- 0
			return
		}
		resp.Body.Close()
		status <- resp.StatusCode
	}()
	return status
}

// The first request need not wait for the settings; others would be refused, or
// worse, if the origin takes fewer than they are.
func TestAConnectionIsSharedOnceTheOriginHasSaidHowManyStreamsItTakes(t *testing.T) {
	asked, settle := make(chan uint32), make(chan struct{})
	origin := rawServer(t, func(r *raw, n int) {
		if n > 0 {
			r.settle()
		}
		r.serve(func(r *raw, stream uint32, _ int) {
			if n > 0 {
				r.heads(stream, true, ":status", "202")
				return
			}
			asked <- stream
			<-settle
			r.settle(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 1})
			<-settle
			r.heads(stream, true, ":status", "201")
		})
	})
	s, addr := serve(t, http1.Config{}, passing(NewOrigin(origin, http1.OriginConfig{})))
	first := get(t, addr)
	<-asked // before the settings
	second := get(t, addr)
	harness.WaitFor(t, "two requests", func() bool { return s.Active() == 2 })
	settle <- struct{}{}
	if got := <-second; got != 202 {
		t.Errorf("the second request: got %d, want 202 from another connection", got)
	}
	settle <- struct{}{}
	if got := <-first; got != 201 {
		t.Errorf("the first request: got %d, want 201 from the first connection", got)
	}
}

func TestAnOriginThatSendsNoSettingsGetsOneRequestAndNoMore(t *testing.T) {
	asked, reply := make(chan uint32), make(chan struct{})
	origin := rawServer(t, func(r *raw, _ int) {
		r.serve(func(r *raw, stream uint32, n int) {
			asked <- stream
			<-reply
			r.settle()
			r.heads(stream, true, ":status", "200")
		})
	})
	s, addr := serve(t, http1.Config{}, passing(NewOrigin(origin, http1.OriginConfig{Connect: 2 * time.Second})))
	first := get(t, addr)
	<-asked
	second := get(t, addr)
	if got := <-second; got != http.StatusGatewayTimeout {
		t.Errorf("the second request: got %d, want 504", got)
	}
	third := get(t, addr)
	<-asked // on a connection of its own
	close(reply)
	if a, b := <-first, <-third; a != 200 || b != 200 {
		t.Errorf("those that were sent: got %d and %d, want 200", a, b)
	}
	harness.WaitFor(t, "no stream", func() bool { return s.Active() == 0 })
}

func TestAConnectionThatTakesNoStreamAnyMoreIsReplaced(t *testing.T) {
	left := make(chan struct{})
	addr, errs := sending(t, rawServer(t, func(r *raw, n int) {
		if n > 0 {
			r.settle()
		}
		r.serve(func(r *raw, stream uint32, _ int) {
			if n == 0 {
				r.settle(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 0})
			}
			r.heads(stream, true, ":status", "200")
		})
		if n == 0 {
			close(left)
		}
	}), http1.OriginConfig{})
	for range 2 {
		do(t, request(t, http.MethodGet, "http://"+addr+"/", nil))
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	<-left // closed by us
}

// Who reads no further than the preface may have closed before all was written.
func TestWhatAnOriginOfHTTP1SaysIsHeardBeforeItsEnd(t *testing.T) {
	for range 20 {
		l := listen(t)
		go func() {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, "HTTP/1.1 400 Bad Request\r\n\r\n")
			conn.Close() // with bytes unread: a reset
		}()
		addr, errs := sending(t, l.Addr().String(), http1.OriginConfig{})
		do(t, request(t, http.MethodPost, "http://"+addr+"/", io.LimitReader(endless{new(atomic.Int64)}, 1<<10)))
		wantReason(t, <-errs, http1.BadReply)
	}
}
