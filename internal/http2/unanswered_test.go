package http2

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"graylane/internal/http1"
	"graylane/test/harness"
)

// callee is a sidecar that hands its callers on to the app at addr.
func callee(t testing.TB, addr string) string {
	t.Helper()
	_, at := serve(t, http1.Config{Sidecars: true}, passing(NewOrigin(addr, http1.OriginConfig{})))
	return at
}

func TestASidecarWhoseAppIsAwaySendsTheRequestElsewhere(t *testing.T) {
	addr, errs := sending(t, callee(t, harness.FreeAddress(t)), http1.OriginConfig{Sidecar: true})
	for name, req := range map[string]*http.Request{
		"POST": request(t, http.MethodPost, "http://"+addr+"/", strings.NewReader("x")),
		"gRPC": call(t, addr),
	} {
		t.Run(name, func(t *testing.T) {
			resp, _ := do(t, req)
			if e := wantReason(t, <-errs, http1.ConnectRefused); !e.Retryable || e.Op != "connect" {
				t.Errorf("got %+v, want an error to connect that may be tried elsewhere", e)
			}
			if got := resp.Header[unsentHeader]; got != nil {
				t.Errorf("the app was told %q, want nothing", got)
			}
		})
	}
}

func TestASidecarWhoseAppDiesHasIdempotentRequestsRepeated(t *testing.T) {
	app := rawOrigin(t, func(r *raw, _ uint32, _ int) { r.end() })
	addr, errs := sending(t, callee(t, app), http1.OriginConfig{Sidecar: true})
	for method, repeatable := range map[string]bool{http.MethodPut: true, http.MethodPost: false} {
		resp, _ := do(t, request(t, method, "http://"+addr+"/", strings.NewReader("x")))
		if e := wantReason(t, <-errs, http1.OriginClosed); e.Retryable || e.Repeatable != repeatable {
			t.Errorf("%s: got %+v, want an error that may be repeated: %v", method, e, repeatable)
		}
		if got := resp.Header[unansweredHeader]; got != nil {
			t.Errorf("%s: the app was told %q, want nothing", method, got)
		}
	}
}

// An app that says it has served the request all the same, or has it from somebody else.
func TestAnAppCannotSayThatItGotNothing(t *testing.T) {
	app := origin(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set(unsentHeader, "1")
		w.Header().Set(unansweredHeader, "1")
		w.WriteHeader(http.StatusBadGateway)
	})
	addr, errs := sending(t, callee(t, addrOf(app)), http1.OriginConfig{Sidecar: true})
	resp, _ := do(t, request(t, http.MethodPost, "http://"+addr+"/", strings.NewReader("x")))
	if err := <-errs; err != nil {
		t.Errorf("got %v, want the reply passed on", err)
	}
	if resp.StatusCode != http.StatusBadGateway || resp.Header[unsentHeader] != nil {
		t.Errorf("got %d with %v, want 502 and nothing about it", resp.StatusCode, resp.Header)
	}
}

func TestAStrangerIsNotBelievedThatItGotNothing(t *testing.T) {
	addr, errs := sending(t, callee(t, harness.FreeAddress(t)), http1.OriginConfig{})
	resp, _ := do(t, request(t, http.MethodPost, "http://"+addr+"/", strings.NewReader("x")))
	if err := <-errs; err != nil {
		t.Errorf("got %v, want the reply passed on", err)
	}
	if resp.StatusCode != http.StatusBadGateway || resp.Header[unsentHeader] != nil {
		t.Errorf("got %d with %v, want 502 and nothing about it", resp.StatusCode, resp.Header)
	}
}

// What is sent as HTTP/2 for a caller of HTTP/1 is not answered for good either.
func TestABridgeTellsWhatBecameOfARequest(t *testing.T) {
	dying := rawOrigin(t, func(r *raw, _ uint32, _ int) { r.end() })
	for _, tt := range []struct {
		name, origin, method  string
		retryable, repeatable bool
	}{
		{"an app that is away", callee(t, harness.FreeAddress(t)), "POST", true, false},
		{"an app that dies", callee(t, dying), "PUT", false, true},
		{"an app that dies of what may not be repeated", callee(t, dying), "POST", false, false},
		{"an origin that dies", dying, "PUT", false, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			addr, errs := bridged(t, tt.origin, http1.OriginConfig{Sidecar: true})
			resp := say(t, addr, tt.method+" / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nx")
			e, ok := errors.AsType[*http1.Error](<-errs)
			if !ok || e.Retryable != tt.retryable || e.Repeatable && !e.Retryable != tt.repeatable {
				t.Errorf("got %+v, want one that may be tried elsewhere: %v, repeated: %v", e, tt.retryable, tt.repeatable)
			}
			if resp.StatusCode != http.StatusBadGateway || resp.Header["Connection"] != nil {
				t.Errorf("the caller got %d with %v, want 502 that says no more", resp.StatusCode, resp.Header)
			}
		})
	}
}

// An app that is there, and speaks something else, is not away: whoever called it has to see why.
func TestAnAppThatDoesNotSpeakHTTP2IsNotAway(t *testing.T) {
	l := listen(t)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, "HTTP/1.1 400 Bad Request\r\n\r\n")
			conn.Close()
		}
	}()
	app := l.Addr().String()
	addr, errs := sending(t, callee(t, app), http1.OriginConfig{Sidecar: true})
	resp, _ := do(t, request(t, http.MethodGet, "http://"+addr+"/", nil))
	if err := <-errs; err != nil || resp.Header.Get("X-Graylane-Error") != http1.BadReply {
		t.Errorf("behind a sidecar: got %v with %v, want the answer %s", err, resp.Header, http1.BadReply)
	}
	addr, errs = bridged(t, app, http1.OriginConfig{})
	resp = say(t, addr, "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
	<-errs
	if got := resp.Header.Get("X-Graylane-Error"); resp.StatusCode != http.StatusBadGateway || got != http1.BadReply {
		t.Errorf("behind the bridge: got %d, %q, want 502, %s", resp.StatusCode, got, http1.BadReply)
	}
}
