package http2

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/net/http2"

	"graylane/internal/http1"
)

// head is that of a request as it is sent: what is given, in place of what is common.
func head(fields ...string) []string {
	given := strings.Join(fields, "\n")
	var all []string
	for _, common := range [][2]string{{":method", "GET"}, {":scheme", "http"}, {":authority", "users:80"}, {":path", "/"}} {
		if !strings.Contains(given, common[0]) {
			all = append(all, common[0], common[1])
		}
	}
	return append(all, fields...)
}

// Whatever reads a head behind us, and may write it as HTTP/1, can read it in one way
// only.
func TestARequestThatIsMalformedGoesNoFurther(t *testing.T) {
	var got atomic.Int64
	_, addr := serve(t, http1.Config{}, handlerFunc(func(x *Exchange) {
		got.Add(1)
		x.Reply(200, "", "")
	}))
	cases := []struct {
		name   string
		fields []string
		reply  string // its status, or "reset"
	}{
		{"a coding", head("transfer-encoding", "chunked"), "400"},
		{"Connection", head("connection", "close"), "400"},
		{"Keep-Alive", head("keep-alive", "timeout=5"), "400"},
		{"Proxy-Connection", head("proxy-connection", "close"), "400"},
		{"Upgrade", head("upgrade", "websocket"), "400"},
		{"TE of a coding", head("te", "trailers, gzip"), "400"},
		{"a length of a body that does not come", head("content-length", "5"), "400"},
		{"two lengths", head("content-length", "0", "content-length", "0"), "400"},
		{"a list of lengths", head("content-length", "0, 0"), "400"},
		{"a length with a sign", head("content-length", "+0"), "400"},
		{"a name like a length", head("content_length", "5"), "400"},
		{"a name like a coding", head("transfer_encoding", "chunked"), "400"},
		{"a name in upper case", head("X-Upper", "1"), "reset"},
		{"a name with a space", head("x ", "1"), "reset"},
		{"a name with a colon", head("x:y", "1"), "reset"},
		{"a name with a line end", head("x\r\ny", "1"), "reset"},
		{"no name", head("", "1"), "reset"},
		{"a value with CR and LF", head("x", "a\r\nHost: b"), "reset"},
		{"a value with LF", head("x", "a\nHost: b"), "reset"},
		{"a value with NUL", head("x", "a\x00"), "reset"},
		{"another Host", head("host", "orders:80"), "400"},
		{"two Hosts", head("host", "users:80", "host", "users:80"), "400"},
		{"userinfo", head(":authority", "me@users:80"), "reset"},
		{"an authority with a path", head(":authority", "users/x"), "400"},
		{"an authority with a space", head(":authority", "users orders"), "400"},
		{"an authority with a line end", head(":authority", "users\r\nx: y"), "reset"},
		{"an empty path", head(":path", ""), "reset"},
		{"a relative path", head(":path", "users"), "reset"},
		{"an absolute target", head(":path", "http://orders/"), "400"},
		{"a path with a space", head(":path", "/ HTTP/1.1"), "400"},
		{"a query with a space", head(":path", "/?a b"), "400"},
		{"a path with a tab", head(":path", "/\t"), "reset"},
		{"a path with a line end", head(":path", "/\r\nx: y"), "reset"},
		{"an asterisk of GET", head(":path", "*"), "400"},
		{"an empty method", head(":method", ""), "reset"},
		{"a method with a space", head(":method", "GET /x"), "400"},
		{"a method that is no token", head(":method", "G(T"), "400"},
		{"no method", []string{":scheme", "http", ":authority", "users", ":path", "/"}, "reset"},
		{"a path twice", head(":path", "/a", ":path", "/b"), "reset"},
		{"an authority twice", head(":authority", "users", ":authority", "orders"), "reset"},
		{"an unknown pseudo field", head(":x", "1"), "reset"},
		{"a pseudo field behind others", []string{":method", "GET", ":scheme", "http", "x", "1", ":path", "/"}, "reset"},
		{"a status", head(":status", "200"), "reset"},
		{"a tunnel to nowhere", []string{":method", "CONNECT", ":authority", "users"}, "400"},
		{"a tunnel with a path", []string{":method", "CONNECT", ":authority", "users:80", ":path", "/", ":scheme", "http"}, "reset"},
		{"trailers with a bad name", head("trailer", "x y"), "400"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := rawCaller(t, addr)
			r.heads(1, true, c.fields...)
			if reply := r.outcome(t, 1); reply != c.reply {
				t.Errorf("got %s, want %s", reply, c.reply)
			}
			r.heads(3, true, head()...) // the connection is as good as before
			if reply := r.outcome(t, 3); reply != "200" {
				t.Errorf("the next request: got %s, want 200", reply)
			}
		})
	}
	if got := got.Load(); got != int64(len(cases)) {
		t.Errorf("the handler got %d requests, want the %d good ones alone", got, len(cases))
	}
}

// outcome is the status of the reply on a stream, or "reset".
func (r *raw) outcome(t testing.TB, stream uint32) string {
	t.Helper()
	for {
		frame, err := r.ReadFrame()
		if err != nil {
			t.Fatalf("the connection ended: %v", err)
		}
		if frame.Header().StreamID != stream {
			continue
		}
		switch f := frame.(type) {
		case *http2.MetaHeadersFrame:
			return f.PseudoValue("status")
		case *http2.RSTStreamFrame:
			return "reset"
		}
	}
}

// What net/http refuses already, check refuses as well.
func TestCheckDependsOnNobody(t *testing.T) {
	good := func() *http.Request {
		return &http.Request{
			Method: "POST", Host: "users:80", RequestURI: "/a?b", ContentLength: -1,
			Header: http.Header{"X": {"a", "\tb \xff"}, "Te": {"trailers"}, "Host": {"USERS:80"}}, Trailer: http.Header{"X-T": nil},
		}
	}
	var r Request
	r.read(good())
	if err := r.check(); err != nil {
		t.Fatalf("a good one: %v", err)
	}
	for name, spoil := range map[string]func(in *http.Request){
		"a coding":              func(in *http.Request) { in.Header.Set("Transfer-Encoding", "identity") },
		"Connection":            func(in *http.Request) { in.Header.Set("Connection", "close") },
		"TE":                    func(in *http.Request) { in.Header.Set("TE", "gzip") },
		"a name with a space":   func(in *http.Request) { in.Header["X "] = []string{""} },
		"a name with a colon":   func(in *http.Request) { in.Header[":protocol"] = []string{"websocket"} },
		"no name":               func(in *http.Request) { in.Header[""] = []string{""} },
		"a value with LF":       func(in *http.Request) { in.Header.Set("X", "a\nb") },
		"a value with CR":       func(in *http.Request) { in.Header.Set("X", "a\rb") },
		"a value with NUL":      func(in *http.Request) { in.Header.Set("X", "\x00") },
		"a value with DEL":      func(in *http.Request) { in.Header.Set("X", "\x7f") },
		"a path with LF":        func(in *http.Request) { in.RequestURI = "/\n" },
		"a relative path":       func(in *http.Request) { in.RequestURI = "a" },
		"no path":               func(in *http.Request) { in.RequestURI = "" },
		"a query alone":         func(in *http.Request) { in.RequestURI = "?a" },
		"no method":             func(in *http.Request) { in.Method = "" },
		"a host with LF":        func(in *http.Request) { in.Host = "a\nb"; in.Header.Del("Host") },
		"a length and none":     func(in *http.Request) { in.Header.Set("Content-Length", "x") },
		"a length of something": func(in *http.Request) { in.Header.Set("Content-Length", "5"); in.ContentLength = 0 },
		"trailers of framing":   func(in *http.Request) { in.Trailer["Transfer-Encoding"] = nil },
	} {
		in := good()
		spoil(in)
		r.read(in)
		if err := r.check(); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}

func TestABodyIsAsLongAsItWasAnnounced(t *testing.T) {
	begun, arrived := make(chan struct{}), make(chan error, 1)
	addr := relayed(t, func(_ http.ResponseWriter, r *http.Request) {
		begun <- struct{}{}
		_, err := io.Copy(io.Discard, r.Body)
		arrived <- err
	})
	for _, body := range []string{"123456", "1234"} {
		r := rawCaller(t, addr)
		r.heads(1, false, head(":method", "POST", "content-length", "5")...)
		_ = r.WriteData(1, false, []byte("1234"))
		<-begun
		_ = r.WriteData(1, true, []byte(body[4:]))
		if reply := r.outcome(t, 1); reply != "reset" {
			t.Errorf("%q for 5 bytes: got %s, want a reset", body, reply)
		}
		if err := <-arrived; err == nil {
			t.Errorf("%q for 5 bytes: the origin got a whole request", body)
		}
	}
}

func TestFieldsOfOneHopEndHere(t *testing.T) {
	var got http.Header
	s := origin(t, func(w http.ResponseWriter, r *http.Request) { got = r.Header })
	_, addr := serve(t, http1.Config{}, passing(NewOrigin(addrOf(s), http1.OriginConfig{})))
	do(t, request(t, http.MethodGet, "http://"+addr+"/", nil, "Proxy-Authorization", "Basic eA==", "HTTP2-Settings", "x", "TE", "trailers"))
	if len(got["Proxy-Authorization"])+len(got["Http2-Settings"]) > 0 || got.Get("Te") != "trailers" {
		t.Errorf("the origin got %v, want TE alone", got)
	}

	_, addr = serve(t, http1.Config{}, passing(NewOrigin(rawOrigin(t, func(r *raw, stream uint32, _ int) {
		fields := []string{"connection", "close", "transfer-encoding", "chunked", "upgrade", "h2c", "keep-alive", "timeout=5", "proxy-connection", "close"}
		r.heads(stream, false, append([]string{":status", "103", "link", "a"}, fields...)...)
		r.heads(stream, true, append([]string{":status", "200", "x", "1"}, fields...)...)
	}), http1.OriginConfig{})))
	r := rawCaller(t, addr)
	for stream := uint32(1); stream < 5; stream += 2 { // a Connection: close would end the connection
		r.heads(stream, true, head()...)
		var all bytes.Buffer
		for all.Len() == 0 || !strings.HasSuffix(all.String(), "x=1 ") {
			f, err := r.ReadFrame()
			if err != nil {
				t.Fatal(err)
			}
			if m, ok := f.(*http2.MetaHeadersFrame); ok {
				for _, field := range m.Fields {
					all.WriteString(field.Name + "=" + field.Value + " ")
				}
			}
		}
		if want := ":status=103 link=a :status=200 x=1 "; all.String() != want {
			t.Errorf("got %q, want %q", all.String(), want)
		}
	}
}

func TestAHeadThatTheOriginDoesNotTakeIsTheCallersFault(t *testing.T) {
	addr, errs := sending(t, rawServer(t, func(r *raw, _ int) {
		r.settle(http2.Setting{ID: http2.SettingMaxHeaderListSize, Val: 500})
		r.serve(func(r *raw, stream uint32, _ int) { r.heads(stream, true, ":status", "200") })
	}), http1.OriginConfig{})
	do(t, request(t, http.MethodGet, "http://"+addr+"/", nil)) // after which the settings are known
	if err := <-errs; err != nil {
		t.Error(err)
	}
	resp, _ := do(t, request(t, http.MethodGet, "http://"+addr+"/", nil, "X", strings.Repeat("x", 500)))
	if e := wantReason(t, <-errs, http1.HeadTooLarge); resp.StatusCode != 431 || e.Retryable || e.Repeatable {
		t.Errorf("got %d, %v, want 431 and no other try", resp.StatusCode, e)
	}
}
