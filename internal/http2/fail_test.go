package http2

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"graylane/internal/http1"
	"graylane/test/harness"
)

// sending is the address of a Server that sends to addr, and the errors of that.
func sending(t testing.TB, addr string, cfg http1.OriginConfig) (at string, errs chan error) {
	t.Helper()
	errs = make(chan error, 10)
	o := NewOrigin(addr, cfg)
	_, at = serve(t, http1.Config{}, handlerFunc(func(x *Exchange) {
		err := x.Send(o)
		if err != nil {
			x.Fail(err)
		}
		errs <- err
	}))
	return at, errs
}

// silent is an origin that takes requests and says nothing.
func silent(t testing.TB) string { return rawOrigin(t, func(*raw, uint32, int) {}) }

// hanging is a Dial that never gets there.
func hanging(ctx context.Context, _ string) (net.Conn, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func resetting(code http2.ErrCode) func(*raw, uint32, int) {
	return func(r *raw, stream uint32, _ int) { _ = r.WriteRSTStream(stream, code) }
}

func TestErrorsAreToldInTheCallersTerms(t *testing.T) {
	short := http1.OriginConfig{Header: 50 * time.Millisecond}
	for _, c := range []struct {
		name     string
		origin   string
		cfg      http1.OriginConfig
		headers  []string
		reason   string
		status   int
		grpc     string // grpc-status
		retry    bool
		byTotal  bool // only the call of gRPC has the limit
		grpcOnly bool
	}{
		{name: "nobody listens", origin: harness.FreeAddress(t), reason: http1.ConnectRefused, status: 502, grpc: "14", retry: true},
		{name: "no way there", origin: "192.0.2.1:1", cfg: http1.OriginConfig{Connect: 50 * time.Millisecond, Dial: hanging}, reason: http1.ConnectTimeout, status: 504, grpc: "4", retry: true},
		{name: "no answer in time", origin: silent(t), cfg: short, headers: []string{"Grpc-Timeout", "50m"}, reason: http1.HeaderTimeout, status: 504, grpc: "4"},
		{name: "cancelled", origin: rawOrigin(t, resetting(http2.ErrCodeCancel)), reason: http1.OriginClosed, status: 502, grpc: "1"},
		{name: "reset", origin: rawOrigin(t, resetting(http2.ErrCodeInternal)), reason: http1.OriginClosed, status: 502, grpc: "13"},
		{name: "told to be calm", origin: rawOrigin(t, resetting(http2.ErrCodeEnhanceYourCalm)), reason: http1.OriginClosed, status: 502, grpc: "8"},
		{name: "refused for good", origin: rawOrigin(t, resetting(http2.ErrCodeRefusedStream)), reason: http1.OriginClosed, status: 502, grpc: "14", retry: true},
		{name: "connection lost", origin: rawOrigin(t, func(r *raw, _ uint32, _ int) { r.end() }), reason: http1.OriginClosed, status: 502, grpc: "14"},
		{name: "an origin of HTTP/1", origin: plainOrigin(t), reason: http1.BadReply, status: 502, grpc: "14", retry: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			addr, errs := sending(t, c.origin, c.cfg)
			resp, body := do(t, request(t, http.MethodPost, "http://"+addr+"/", strings.NewReader("x")))
			if resp.StatusCode != c.status || resp.Header.Get("X-Graylane-Error") != c.reason || body == "" {
				t.Errorf("got %d, %q with %q, want %d, %s with a text", resp.StatusCode, resp.Header.Get("X-Graylane-Error"), body, c.status, c.reason)
			}
			if e := wantReason(t, <-errs, c.reason); e.Retryable != c.retry {
				t.Errorf("retryable: got %v, want %v: %v", e.Retryable, c.retry, e)
			}
			resp, body = do(t, call(t, addr, c.headers...))
			wantReason(t, <-errs, c.reason)
			h := resp.Header
			if resp.StatusCode != 200 || h.Get("Content-Type") != "application/grpc" || h.Get("Grpc-Status") != c.grpc ||
				h.Get("Grpc-Message") == "" || h.Get("X-Graylane-Error") != c.reason || body != "" || len(resp.Trailer) != 0 {
				t.Errorf("a call of gRPC: got %d %v with trailers %v, want 200 with grpc-status %s in a head alone", resp.StatusCode, h, resp.Trailer, c.grpc)
			}
		})
	}
}

// plainOrigin speaks HTTP/1 alone.
func plainOrigin(t testing.TB) string {
	t.Helper()
	s := origin(t, func(http.ResponseWriter, *http.Request) {}, func(s *http.Server) {
		s.Protocols.SetUnencryptedHTTP2(false)
		s.Protocols.SetHTTP1(true)
	})
	return addrOf(s)
}

func TestAReplyThatBreaksOffIsNeverTakenForAWholeOne(t *testing.T) {
	for _, how := range []func(r *raw, stream uint32){
		func(r *raw, stream uint32) { _ = r.WriteRSTStream(stream, http2.ErrCodeInternal) },
		func(r *raw, _ uint32) { r.end() },
	} {
		addr, errs := sending(t, rawOrigin(t, func(r *raw, stream uint32, _ int) {
			r.heads(stream, false, ":status", "200", "content-type", "text/plain")
			_ = r.WriteData(stream, false, []byte("half"))
			how(r, stream)
		}), http1.OriginConfig{})
		resp, err := client(t).RoundTrip(request(t, http.MethodGet, "http://"+addr+"/", nil))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err == nil || strings.Contains(string(body), "graylane") {
			t.Errorf("got %q and %v, want an error and nothing that the origin did not say", body, err)
		}
		if e := wantReason(t, <-errs, http1.OriginClosed); e.Retryable || e.Repeatable {
			t.Errorf("may be sent elsewhere: %v", e)
		}
	}
}

func TestACallOfGRPCThatBreaksOffEndsWithAStatus(t *testing.T) {
	for _, c := range []struct {
		how             func(r *raw, stream uint32)
		timeout, status string
	}{
		{func(r *raw, stream uint32) { _ = r.WriteRSTStream(stream, http2.ErrCodeInternal) }, "1M", "13"},
		{func(r *raw, _ uint32) { r.end() }, "1M", "14"},
		{func(*raw, uint32) {}, "3S", "4"},
	} {
		addr, _ := sending(t, rawOrigin(t, func(r *raw, stream uint32, _ int) {
			r.heads(stream, false, ":status", "200", "content-type", "application/grpc")
			_ = r.WriteData(stream, false, []byte("\x00\x00\x00\x00\x01x"))
			c.how(r, stream)
		}), http1.OriginConfig{})
		resp, body := do(t, call(t, addr, "Grpc-Timeout", c.timeout))
		if body != "\x00\x00\x00\x00\x01x" || resp.Trailer.Get("Grpc-Status") != c.status {
			t.Errorf("got %q and trailers %v, want the message and grpc-status %s", body, resp.Trailer, c.status)
		}
	}
}

// What an origin has not begun is sent again, as long as all of it is at hand.
func TestARequestThatWasNotBegunIsSentAgain(t *testing.T) {
	for _, c := range []struct {
		name string
		not  func(r *raw, stream uint32)
	}{
		{"refused", func(r *raw, stream uint32) { _ = r.WriteRSTStream(stream, http2.ErrCodeRefusedStream) }},
		{"after the last", func(r *raw, stream uint32) { _ = r.WriteGoAway(stream-2, http2.ErrCodeNo, nil) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			var asked, begun atomic.Int64
			addr, errs := sending(t, rawOrigin(t, func(r *raw, stream uint32, _ int) {
				if asked.Add(1) == 2 {
					c.not(r, stream)
					return
				}
				begun.Add(1)
				r.heads(stream, true, ":status", "200", "content-type", "application/grpc", "grpc-status", "0")
			}), http1.OriginConfig{})
			for range 3 {
				resp, _ := do(t, call(t, addr))
				if err := <-errs; err != nil || resp.Header.Get("Grpc-Status") != "0" {
					t.Fatalf("got %v, %v", resp.Header, err)
				}
			}
			if asked.Load() != 4 || begun.Load() != 3 {
				t.Errorf("3 calls were sent %d times and begun %d times, want 4 and 3", asked.Load(), begun.Load())
			}
		})
	}
}

func TestWhatAServerOfGoShutsDownUnderIsSentAgain(t *testing.T) {
	s := origin(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })
	o := NewOrigin(addrOf(s), http1.OriginConfig{})
	_, addr := serve(t, http1.Config{}, passing(o))
	do(t, call(t, addr))
	if err := s.Config.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	resp, _ := do(t, call(t, addr))
	if got := resp.Header.Get("X-Graylane-Error"); got != http1.ConnectRefused {
		t.Errorf("after the shutdown: got %q, want %s, since its connection takes no more", got, http1.ConnectRefused)
	}
}

func TestALongBodyIsNotSentTwice(t *testing.T) {
	var asked atomic.Int64
	addr, errs := sending(t, rawOrigin(t, func(r *raw, stream uint32, _ int) {
		asked.Add(1)
		for got := 0; got < keeping+1; {
			if f, err := r.ReadFrame(); err != nil {
				return
			} else if d, ok := f.(*http2.DataFrame); ok {
				got += len(d.Data())
			}
		}
		_ = r.WriteRSTStream(stream, http2.ErrCodeRefusedStream)
	}), http1.OriginConfig{})
	resp, _ := do(t, request(t, http.MethodPut, "http://"+addr+"/", strings.NewReader(strings.Repeat("b", keeping+1))))
	if e := wantReason(t, <-errs, http1.OriginClosed); resp.StatusCode != 502 || e.Retryable || e.Repeatable || asked.Load() != 1 {
		t.Errorf("got %d after %d tries, %v, want 502 after one", resp.StatusCode, asked.Load(), e)
	}
}

func TestAnIdempotentRequestMayBeRepeatedElsewhere(t *testing.T) {
	addr, errs := sending(t, rawOrigin(t, func(r *raw, _ uint32, _ int) { r.end() }), http1.OriginConfig{})
	for method, want := range map[string]bool{http.MethodGet: true, http.MethodPut: true, http.MethodPost: false} {
		do(t, request(t, method, "http://"+addr+"/", strings.NewReader("x")))
		if e := wantReason(t, <-errs, http1.OriginClosed); e.Repeatable != want || e.Retryable {
			t.Errorf("%s: repeatable %v, retryable %v, want %v and false", method, e.Repeatable, e.Retryable, want)
		}
	}
}

func TestAnotherOriginGetsTheWholeRequest(t *testing.T) {
	var got string
	good := NewOrigin(addrOf(origin(t, func(_ http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got = string(b)
	})), http1.OriginConfig{})
	bad := NewOrigin(rawOrigin(t, func(r *raw, stream uint32, _ int) {
		for {
			if f, err := r.ReadFrame(); err != nil || f.Header().Flags.Has(http2.FlagDataEndStream) {
				_ = r.WriteRSTStream(stream, http2.ErrCodeRefusedStream)
				return
			}
		}
	}), http1.OriginConfig{})
	_, addr := serve(t, http1.Config{}, handlerFunc(func(x *Exchange) {
		if e := wantReason(t, x.Send(bad), http1.OriginClosed); !e.Retryable {
			t.Errorf("not retryable: %v", e)
		}
		if err := x.Send(good); err != nil {
			t.Error(err)
		}
	}))
	do(t, request(t, http.MethodPost, "http://"+addr+"/", strings.NewReader("all of it")))
	if got != "all of it" {
		t.Errorf("got %q, want all of it", got)
	}
}

func TestHandlersThatGoWrong(t *testing.T) {
	_, addr := serve(t, http1.Config{}, handlerFunc(func(x *Exchange) {
		if string(x.Req.Path()) == "/panic" {
			panic("as tests do")
		}
	}))
	if resp, _ := do(t, request(t, http.MethodGet, "http://"+addr+"/", nil)); resp.StatusCode != 500 || resp.Header.Get("X-Graylane-Error") != http1.NoReply {
		t.Errorf("no reply: got %d, %v", resp.StatusCode, resp.Header)
	}
	_, err := client(t).RoundTrip(request(t, http.MethodGet, "http://"+addr+"/panic", nil))
	var reset http2.StreamError
	if !errors.As(err, &reset) {
		t.Errorf("a panic: got %v, want the stream reset", err)
	}
}
