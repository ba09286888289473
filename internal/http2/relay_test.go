package http2

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"graylane/internal/http1"
)

func TestARequestArrivesAsItWasSent(t *testing.T) {
	var got *http.Request
	var body string
	addr := relayed(t, func(_ http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got, body = r, string(b)
	})
	for _, target := range []string{
		"/", "/a%2Fb//c/../d/%41;v=1?x=%20+&y=a//b", "/encoded/Y%2BY%2FY%3D/stuff", "//evil/x", "//", "/a/./b/%2e%2e/c", "/a?", "/?a?b",
	} {
		req := request(t, http.MethodPost, "http://"+addr, strings.NewReader("a body"), "X-Dup", "a", "X-Dup", "b", "Cookie", "a=1; b=2", "X-Empty", "", "User-Agent", "app/1")
		req.URL.Opaque = target
		if strings.HasPrefix(target, "//") {
			req.URL.Opaque = "//users.shop:8080" + target
		}
		if i := strings.IndexByte(req.URL.Opaque, '?'); i >= 0 {
			req.URL.Opaque, req.URL.RawQuery, req.URL.ForceQuery = req.URL.Opaque[:i], req.URL.Opaque[i+1:], true
		}
		req.Host = "users.shop:8080"
		do(t, req)
		if got.Method != "POST" || got.Host != "users.shop:8080" || got.RequestURI != target || body != "a body" || got.ContentLength != 6 {
			t.Errorf("got %s %s at %s with %q of %d, want POST %s", got.Method, got.RequestURI, got.Host, body, got.ContentLength, target)
		}
		want := http.Header{"X-Dup": {"a", "b"}, "Cookie": {"a=1; b=2"}, "X-Empty": {""}, "User-Agent": {"app/1"}, "Content-Length": {"6"}}
		if diff := cmp.Diff(got.Header, want); diff != "" {
			t.Errorf("headers (got -, want +):\n%s", diff)
		}
	}
}

func TestNothingIsAddedToARequest(t *testing.T) {
	var got http.Header
	addr := relayed(t, func(_ http.ResponseWriter, r *http.Request) { got = r.Header })
	req := request(t, http.MethodGet, "http://"+addr+"/", nil)
	req.Header["User-Agent"] = nil
	do(t, req)
	if len(got) != 0 {
		t.Errorf("got %v, want no header", got)
	}
}

func TestAReplyArrivesAsItWasSent(t *testing.T) {
	sent := http.Header{"Set-Cookie": {"a=1", "b"}, "Www-Authenticate": {"A", "B"}}
	for _, status := range []int{200, 201, 204, 304, 404, 500} {
		addr := relayed(t, func(w http.ResponseWriter, _ *http.Request) {
			h := w.Header()
			h["Date"], h["Content-Type"], h["Content-Length"] = nil, nil, nil
			h["Set-Cookie"], h["Www-Authenticate"] = sent["Set-Cookie"], sent["Www-Authenticate"]
			w.WriteHeader(status)
		})
		resp, body := do(t, request(t, http.MethodGet, "http://"+addr+"/", nil))
		if resp.StatusCode != status || body != "" {
			t.Errorf("got %d with %q, want %d", resp.StatusCode, body, status)
		}
		if diff := cmp.Diff(resp.Header, sent); diff != "" {
			t.Errorf("status %d, headers (got -, want +):\n%s", status, diff)
		}
	}
}

func TestABodyArrivesWhole(t *testing.T) {
	addr := relayed(t, func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(w, r.Body); err != nil {
			t.Errorf("copying: %v", err)
		}
	})
	for _, size := range []int{0, 1, 4096, 16 << 10, 16<<10 + 1, 1 << 20, 5 << 20} {
		body := strings.Repeat("0123456789abcdef", size/16+1)[:size]
		if _, got := do(t, request(t, http.MethodPost, "http://"+addr+"/", io.NopCloser(strings.NewReader(body)))); got != body {
			t.Errorf("a body of %d bytes: got %d", size, len(got))
		}
	}
}

func TestHEADKeepsTheLengthAndHasNoBody(t *testing.T) {
	addr := relayed(t, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Length", "1234") })
	resp, body := do(t, request(t, http.MethodHead, "http://"+addr+"/", nil))
	if got := resp.Header.Get("Content-Length"); got != "1234" || body != "" {
		t.Errorf("got a length of %q and %q, want 1234 and no body", got, body)
	}
}

func TestTrailersArriveAnnouncedOrNot(t *testing.T) {
	var got http.Header
	addr := relayed(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		got = r.Trailer
		w.Header().Set("Trailer", "X-Announced, X-Never")
		w.Header().Set("X-Never", "a header of the same name")
		_, _ = io.WriteString(w, "body")
		w.Header().Set("X-Announced", "1")
		w.Header().Del("X-Never")
		w.Header().Set(http.TrailerPrefix+"X-Late", "2")
	})
	req := request(t, http.MethodPost, "http://"+addr+"/", strings.NewReader("body"))
	req.ContentLength = -1
	req.Trailer = http.Header{"X-T": {"3"}}
	resp, _ := do(t, req)
	if diff := cmp.Diff(got, http.Header{"X-T": {"3"}}); diff != "" {
		t.Errorf("trailers of the request (got -, want +):\n%s", diff)
	}
	if diff := cmp.Diff(resp.Trailer, http.Header{"X-Announced": {"1"}, "X-Late": {"2"}, "X-Never": nil}); diff != "" {
		t.Errorf("trailers of the reply (got -, want +):\n%s", diff)
	}
}

func TestAReplyOfNothingButAHeadStaysOne(t *testing.T) {
	addr := relayed(t, func(w http.ResponseWriter, _ *http.Request) {
		h := w.Header()
		h["Content-Length"] = nil
		h.Set("Content-Type", "application/grpc")
		h.Set("Grpc-Status", "5")
		h.Set("Grpc-Message", "no such user")
	})
	resp, _ := do(t, call(t, addr))
	// Only a head that ends the stream makes net/http say 0 of a length that nobody sent.
	if resp.ContentLength != 0 || resp.Header.Get("Content-Length") != "" || len(resp.Trailer) != 0 {
		t.Errorf("got a length of %d, headers %v and trailers %v, want one head that ends the stream", resp.ContentLength, resp.Header, resp.Trailer)
	}
	if got := resp.Header.Get("Grpc-Status"); got != "5" {
		t.Errorf("grpc-status: got %q, want 5", got)
	}
}

func TestInterimRepliesAreNotHeldBack(t *testing.T) {
	hinted, answer := make(chan struct{}), make(chan struct{})
	addr := relayed(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Link", "</style.css>")
		w.WriteHeader(http.StatusEarlyHints)
		w.WriteHeader(http.StatusProcessing)
		<-answer
		w.Header().Del("Link")
		_, _ = io.WriteString(w, "ok")
	})
	req := request(t, http.MethodGet, "http://"+addr+"/", nil)
	var got []string
	req = req.WithContext(tracing(req.Context(), func(code int, header http.Header) {
		got = append(got, fmt.Sprint(code, header.Get("Link")))
		if len(got) == 2 {
			close(hinted)
		}
	}))
	done := make(chan *http.Response, 1)
	go func() {
		resp, body := do(t, req)
		if body != "ok" {
			t.Errorf("got %q, want ok", body)
		}
		done <- resp
	}()
	<-hinted
	close(answer)
	if resp := <-done; resp.Header.Get("Link") != "" {
		t.Errorf("the reply has the Link of an interim one")
	}
	if want := []string{"103</style.css>", "102</style.css>"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestEditsOfTheReply(t *testing.T) {
	o := NewOrigin(addrOf(origin(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Vary", "Accept")
		w.Header().Set("Access-Control-Allow-Origin", "null")
		w.Header().Set("X-Gone", "1")
	})), http1.OriginConfig{})
	_, addr := serve(t, http1.Config{}, handlerFunc(func(x *Exchange) {
		x.AddReply("Vary", "Origin")
		x.DropReply("x-gone")
		x.DropReply("access-control-allow-origin")
		x.SetReply("access-control-allow-origin", "http://a\r\nX: y")
		if err := x.Send(o); err != nil {
			x.Fail(err)
		}
	}))
	resp, _ := do(t, request(t, http.MethodGet, "http://"+addr+"/", nil))
	if got := resp.Header["Vary"]; !slices.Equal(got, []string{"Accept", "Origin"}) {
		t.Errorf("Vary: got %q, want that of the app and ours", got)
	}
	if got := resp.Header["Access-Control-Allow-Origin"]; !slices.Equal(got, []string{"http://a  X: y"}) {
		t.Errorf("Access-Control-Allow-Origin: got %q, want ours in one line", got)
	}
	if got := resp.Header["X-Gone"]; got != nil {
		t.Errorf("X-Gone: got %q, want none", got)
	}
}

func TestOptionsOfAllIsForTheOrigin(t *testing.T) {
	var got string
	addr := relayed(t, func(_ http.ResponseWriter, r *http.Request) { got = r.Method + " " + r.RequestURI })
	r := rawCaller(t, addr)
	r.heads(1, true, head(":method", "OPTIONS", ":path", "*")...)
	if reply := r.outcome(t, 1); reply != "200" || got != "OPTIONS *" {
		t.Errorf("got %s after %q, want 200 after OPTIONS *", reply, got)
	}
}
