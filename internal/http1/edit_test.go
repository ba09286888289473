package http1

import (
	"strings"
	"testing"
)

// edited sends one request through a relay whose handler edits it, and returns what the origin heard.
func edited(t *testing.T, request string, edit func(r *Request)) string {
	t.Helper()
	heard := make(chan string, 1)
	o := NewOrigin(listen(t, func(c *peer) {
		heard <- c.message()
		c.say("HTTP/1.1 204 No Content⏎⏎")
	}), OriginConfig{})
	_, addr := serve(t, Config{Keep: []string{"X-Mine"}}, handlerFunc(func(x *Exchange) {
		edit(&x.Req)
		if err := x.Send(o); err != nil {
			x.Fail(err)
		}
	}))
	c := dial(t, addr)
	c.say(request)
	if got := c.head(); !strings.HasPrefix(got, "HTTP/1.1 204") {
		t.Fatalf("got %q, want 204", got)
	}
	return <-heard
}

func nothing(*Request) {}

func TestDropsWhatConcernsOneHop(t *testing.T) {
	got := edited(t, "GET / HTTP/1.1⏎Host: h⏎Connection: close, X-Secret⏎X-Secret: s⏎Keep-Alive: x⏎Proxy-Connection: keep-alive⏎"+
		"Proxy-Authorization: p⏎TE: gzip⏎Upgrade: h2c⏎HTTP2-Settings: s⏎X-Last: l⏎⏎", nothing)
	if want := "GET / HTTP/1.1⏎Host: h⏎X-Last: l⏎⏎"; got != want {
		t.Errorf("\n got %q\nwant %q", got, want)
	}
	got = edited(t, "GET / HTTP/1.1⏎Host: h⏎TE: trailers, deflate⏎Connection: TE⏎⏎", nothing)
	if want := "GET / HTTP/1.1⏎Host: h⏎TE: trailers⏎Connection: TE⏎⏎"; got != want {
		t.Errorf("\n got %q\nwant %q", got, want)
	}
}

func TestConnectionCannotRemoveWhatBelongsToTheMessage(t *testing.T) {
	const lines = "X-Gray: base⏎traceparent: t⏎baggage: b⏎X-Mine: m⏎Content-Length: 0⏎Cookie: c⏎"
	got := edited(t, "GET / HTTP/1.1⏎Host: h⏎Connection: X-Gray, traceparent, Host, baggage, x-mine, Content-Length, cookie, x-set⏎"+lines+"X-Set: 1⏎⏎",
		func(r *Request) { r.Set("X-Set", []byte("2")) })
	if want := "GET / HTTP/1.1⏎Host: h⏎" + lines + "X-Set: 2⏎⏎"; got != want {
		t.Errorf("\n got %q\nwant %q", got, want)
	}
}

func TestEdits(t *testing.T) {
	const head = "GET /a/b?c=d HTTP/1.1⏎Host: h⏎x-gray: 1⏎Cookie: a⏎X_GRAY: 2⏎X-Gray: 3⏎Cookie: b⏎⏎"
	tests := map[string]struct {
		edit func(r *Request)
		want string
	}{
		"none": {nothing, head},
		"set replaces at the place of the first": {
			func(r *Request) { r.Set("X-GRAY", []byte("v")) },
			"GET /a/b?c=d HTTP/1.1⏎Host: h⏎x-gray: v⏎Cookie: a⏎X_GRAY: 2⏎Cookie: b⏎⏎",
		},
		"set adds at the end": {
			func(r *Request) { r.Set("X-New", []byte("v")); r.Set("x-new", []byte("w")) },
			"GET /a/b?c=d HTTP/1.1⏎Host: h⏎x-gray: 1⏎Cookie: a⏎X_GRAY: 2⏎X-Gray: 3⏎Cookie: b⏎X-New: w⏎⏎",
		},
		"del removes all": {
			func(r *Request) { r.Del("x-Gray"); r.Del("cookie"); r.Del("absent") },
			"GET /a/b?c=d HTTP/1.1⏎Host: h⏎X_GRAY: 2⏎⏎",
		},
		"set after del": {
			func(r *Request) { r.Del("X-Gray"); r.Set("X-Gray", []byte("v")) },
			"GET /a/b?c=d HTTP/1.1⏎Host: h⏎Cookie: a⏎X_GRAY: 2⏎Cookie: b⏎X-Gray: v⏎⏎",
		},
		"del of what reads alike": {
			func(r *Request) { r.DelAlike("X-Gray") },
			"GET /a/b?c=d HTTP/1.1⏎Host: h⏎Cookie: a⏎Cookie: b⏎⏎",
		},
		"no value can end its line": {
			func(r *Request) { r.Set("X-Gray", []byte("canary\r\nX-Auth: admin\x00")) },
			"GET /a/b?c=d HTTP/1.1⏎Host: h⏎x-gray: canary  X-Auth: admin ⏎Cookie: a⏎X_GRAY: 2⏎Cookie: b⏎⏎",
		},
		"another path": {
			func(r *Request) { r.SetPath([]byte("/x%2F")) },
			"GET /x%2F?c=d HTTP/1.1⏎Host: h⏎x-gray: 1⏎Cookie: a⏎X_GRAY: 2⏎X-Gray: 3⏎Cookie: b⏎⏎",
		},
		"a path that is none": {
			func(r *Request) { r.SetPath([]byte("/x HTTP/1.1\r\n")); r.SetPath([]byte("x")); r.SetPath(nil) },
			head,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := edited(t, head, tt.edit); got != tt.want {
				t.Errorf("\n got %q\nwant %q", got, tt.want)
			}
		})
	}
}

func TestNoEditTouchesTheFraming(t *testing.T) {
	framing := []string{
		"Content-Length", "Transfer-Encoding", "Host", "Connection", "Trailer", "Expect", "Upgrade",
		"content_length", "TRANSFER_ENCODING", "Content.Length", "host",
	}
	for head, body := range map[string]string{
		"POST / HTTP/1.1⏎Host: h⏎Content-Length: 0⏎⏎":                               "",
		"POST / HTTP/1.1⏎Host: h⏎Trailer: X-Sum⏎Transfer-Encoding: chunked⏎⏎":       "3⏎abc⏎0⏎X-Sum: 1⏎⏎",
		"GET / HTTP/1.1⏎Host: h⏎Upgrade: websocket⏎Connection: Upgrade⏎⏎":           "",
		"POST / HTTP/1.1⏎Host: h⏎Expect: 100-continue⏎Transfer-Encoding: chunked⏎⏎": "",
	} {
		got := edited(t, head+body, func(r *Request) {
			for _, name := range framing {
				r.DelAlike(name)
				r.Del(name)
			}
			for _, name := range framing[:7] {
				r.Set(name, []byte("7"))
			}
		})
		if got != head {
			t.Errorf("\n got %q\nwant %q", got, head)
		}
	}
}

func TestReads(t *testing.T) {
	edited(t, "GET http://u@other:81/a?b?c HTTP/1.1⏎Host: h⏎X-A: 1⏎x-a:⏎⏎", func(r *Request) {
		for what, got := range map[string][2]string{
			"Method":    {string(r.Method()), "GET"},
			"Authority": {string(r.Authority()), "other:81"},
			"Host":      {string(r.Get("HOST")), "other:81"},
			"Path":      {string(r.Path()), "/a"},
			"Query":     {string(r.Query()), "b?c"},
			"X-A":       {string(r.Get("x-a")), "1"},
		} {
			if got[0] != got[1] {
				t.Errorf("%s = %q, want %q", what, got[0], got[1])
			}
		}
		v := r.Values(nil, "X-a")
		if len(v) != 2 || string(v[0]) != "1" || v[1] == nil || len(v[1]) != 0 {
			t.Errorf("Values = %q, want 1 and an empty one", v)
		}
		if r.Connect() {
			t.Error("Connect: got true, want false")
		}
		if r.Get("absent") != nil || r.Get("") != nil || r.Values(nil, "absent") != nil {
			t.Errorf("something was found that is not there")
		}
	})
	edited(t, "GET / HTTP/1.1⏎Host: h⏎⏎", func(r *Request) {
		if r.Query() != nil {
			t.Errorf("Query: got %q, want nil", r.Query())
		}
	})
}

func TestSetReplyEditsEveryReply(t *testing.T) {
	o := NewOrigin(listen(t, answer("HTTP/1.1 200 OK⏎access-control-allow-origin: *⏎Vary: X⏎X-Gone: 1⏎Content-Length: 0⏎x-gone: 2⏎⏎")), OriginConfig{})
	_, addr := serve(t, Config{}, handlerFunc(func(x *Exchange) {
		x.DropReply("X-Gone")
		x.DropReply("Access-Control-Allow-Origin")
		x.SetReply("Access-Control-Allow-Origin", "http://a")
		x.AddReply("Vary", "Origin")
		if string(x.Req.Path()) == "/own" {
			x.Reply(200, "", "")
			return
		}
		if err := x.Send(o); err != nil {
			x.Fail(err)
		}
	}))
	c := dial(t, addr)
	c.say("GET / HTTP/1.1⏎Host: h⏎⏎")
	if got, want := c.head(), "HTTP/1.1 200 OK⏎Vary: X⏎Content-Length: 0⏎Access-Control-Allow-Origin: http://a⏎Vary: Origin⏎⏎"; got != want {
		t.Errorf("\n got %q\nwant %q", got, want)
	}
	c.say("GET /own HTTP/1.1⏎Host: h⏎⏎")
	got := c.head()
	for _, want := range []string{"HTTP/1.1 200 OK⏎Date: ", "⏎Content-Length: 0⏎Access-Control-Allow-Origin: http://a⏎Vary: Origin⏎⏎"} {
		if !strings.Contains(got, want) {
			t.Errorf("got %q, want %q in it", got, want)
		}
	}
	if strings.Contains(got, "Content-Type") || strings.Contains(got, "X-Graylane-Error") || strings.Contains(got, "X-Gone") {
		t.Errorf("got %q, want no Content-Type, no reason and nothing that was dropped", got)
	}
}
