package http1

import (
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"
)

// answer is an origin that gives the same reply to every request of one head without a body.
func answer(reply string) func(c *peer) {
	return func(c *peer) {
		for c.message() != "" {
			c.say(reply)
		}
	}
}

func TestPassesRepliesAsTheyAre(t *testing.T) {
	const cookies = "Set-Cookie: a=1; expires=Wed, 21 Oct 2026 07:28:00 GMT; Partitioned; Priority=High⏎Set-Cookie: b⏎set-cookie: c=3⏎WWW-Authenticate: A⏎WWW-Authenticate: B⏎"
	tests := map[string]struct{ origin, want string }{
		"names keep their case":         {"HTTP/1.1 200 OK⏎etag: \"x\"⏎WWW-Authenticate: A⏎SOAPAction: x⏎Content-Length: 0⏎⏎", ""},
		"no Content-Type is added":      {"HTTP/1.1 200 OK⏎Content-Length: 2⏎⏎ok", ""},
		"an empty Content-Type":         {"HTTP/1.1 200 OK⏎Content-Type:⏎Content-Length: 2⏎⏎ok", ""},
		"duplicates":                    {"HTTP/1.1 200 OK⏎" + cookies + "Content-Length: 0⏎⏎", ""},
		"duplicates of a 404":           {"HTTP/1.1 404 Not Found⏎" + cookies + "Content-Length: 0⏎⏎", ""},
		"duplicates of a 500":           {"HTTP/1.1 500 Internal Server Error⏎" + cookies + "Content-Length: 0⏎⏎", ""},
		"a reason of its own":           {"HTTP/1.1 299 Wei\u00df nicht⏎Content-Length: 0⏎⏎", ""},
		"an empty reason":               {"HTTP/1.1 200 ⏎Content-Length: 0⏎⏎", ""},
		"no reason":                     {"HTTP/1.1 200⏎Content-Length: 0⏎⏎", "HTTP/1.1 200 ⏎Content-Length: 0⏎⏎"},
		"Date and Server":               {"HTTP/1.1 200 OK⏎Date: yesterday⏎Server: it⏎Content-Length: 0⏎⏎", ""},
		"204":                           {"HTTP/1.1 204 No Content⏎⏎", ""},
		"204 that says a length":        {"HTTP/1.1 204 No Content⏎Content-Length: 5⏎⏎", "HTTP/1.1 204 No Content⏎⏎"},
		"205":                           {"HTTP/1.1 205 Reset Content⏎⏎", ""},
		"304 keeps its length":          {"HTTP/1.1 304 Not Modified⏎Content-Length: 55⏎⏎", ""},
		"503 is passed on":              {"HTTP/1.1 503 Service Unavailable⏎Retry-After: 1⏎Content-Length: 2⏎⏎no", ""},
		"chunks":                        {"HTTP/1.1 200 OK⏎Transfer-Encoding: chunked⏎⏎5;x=\"y\"⏎hello⏎0⏎⏎", ""},
		"announced trailers":            {"HTTP/1.1 200 OK⏎Trailer: X-T⏎Transfer-Encoding: chunked⏎⏎5⏎hello⏎0⏎X-T: 1⏎⏎", ""},
		"unannounced trailers":          {"HTTP/1.1 200 OK⏎Transfer-Encoding: chunked⏎⏎5⏎hello⏎000⏎x-t: 1⏎X-U:  2⏎⏎", ""},
		"chunks of gzip":                {"HTTP/1.1 200 OK⏎Transfer-Encoding: gzip, chunked⏎⏎5⏎hello⏎0⏎⏎", ""},
		"what concerns one hop":         {"HTTP/1.1 200 OK⏎Connection: X-R⏎X-R: 1⏎Keep-Alive: timeout=5⏎Proxy-Connection: x⏎Upgrade: h2c⏎Content-Length: 0⏎⏎", "HTTP/1.1 200 OK⏎Content-Length: 0⏎⏎"},
		"the origin's close is its own": {"HTTP/1.1 200 OK⏎Connection: close⏎Content-Length: 2⏎⏎ok", "HTTP/1.1 200 OK⏎Content-Length: 2⏎⏎ok"},
		"426 names its protocol":        {"HTTP/1.1 426 Upgrade Required⏎Upgrade: foo/2⏎Connection: Upgrade⏎Content-Length: 0⏎⏎", "HTTP/1.1 426 Upgrade Required⏎Upgrade: foo/2⏎Content-Length: 0⏎Connection: Upgrade⏎⏎"},
		"interim replies":               {"HTTP/1.1 102 Processing⏎⏎HTTP/1.1 103 Early Hints⏎Link: </a>⏎⏎HTTP/1.1 200 OK⏎Content-Length: 0⏎⏎", ""},
		"a folded line":                 {"HTTP/1.1 200 OK⏎X: a⏎ b⏎Content-Length: 0⏎⏎", "HTTP/1.1 200 OK⏎X: a   b⏎Content-Length: 0⏎⏎"},
		"one length twice":              {"HTTP/1.1 200 OK⏎Content-Length: 2⏎Content-Length: 2⏎⏎ok", "HTTP/1.1 200 OK⏎Content-Length: 2⏎⏎ok"},
		"HTTP/1.0 with a length":        {"HTTP/1.0 200 OK⏎Content-Length: 2⏎⏎ok", "HTTP/1.1 200 OK⏎Content-Length: 2⏎⏎ok"},
		"the identity coding":           {"HTTP/1.1 200 OK⏎Transfer-Encoding: identity⏎Connection: close⏎⏎", "HTTP/1.1 200 OK⏎Connection: close⏎⏎"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if tt.want == "" {
				tt.want = tt.origin
			}
			addr := between(t, Config{}, OriginConfig{}, func(c *peer) {
				for c.message() != "" {
					c.say(tt.origin)
					if strings.Contains(tt.origin, "close") {
						return
					}
				}
			})
			c := dial(t, addr)
			rounds := 2 // the second one shows that nothing is left on the connections
			if strings.Contains(tt.want, "Connection: close") {
				rounds = 1
			}
			for range rounds {
				c.say("GET / HTTP/1.1⏎Host: h⏎⏎")
				if got := c.bytes(len(crlf(tt.want))); got != tt.want {
					t.Fatalf("\n got %q\nwant %q", got, tt.want)
				}
			}
			_ = c.Conn.(interface{ CloseWrite() error }).CloseWrite()
			if more, _ := c.rest(); more != "" {
				t.Errorf("more came: %q", more)
			}
		})
	}
}

func TestPassesABodyThatEndsByClose(t *testing.T) {
	addr := between(t, Config{}, OriginConfig{}, func(c *peer) {
		c.message()
		c.say("HTTP/1.1 200 OK⏎X: y⏎⏎all of it")
	})
	c := dial(t, addr)
	c.say("GET / HTTP/1.1⏎Host: h⏎⏎")
	got, err := c.rest()
	if want := "HTTP/1.1 200 OK⏎X: y⏎Connection: close⏎⏎all of it"; got != want || err != nil {
		t.Errorf("got %q, %v, want %q and a regular end", got, err, want)
	}
}

func TestAnswersHeadAtOnce(t *testing.T) {
	for _, framing := range []string{"Content-Length: 1234⏎", "Transfer-Encoding: chunked⏎", "X: y⏎"} {
		addr := between(t, Config{}, OriginConfig{}, answer("HTTP/1.1 200 OK⏎"+framing+"⏎"))
		promptly(t, func() (latest time.Duration) {
			c := dial(t, addr)
			for range 2 {
				c.say("HEAD / HTTP/1.1⏎Host: h⏎⏎")
				want := "HTTP/1.1 200 OK⏎" + framing + "⏎"
				got, took := c.timed(len(crlf(want)))
				if got != want {
					t.Errorf("got %q, want %q", got, want)
				}
				latest = max(latest, took)
			}
			return latest
		})
	}
}

func TestRefusesBadReplies(t *testing.T) {
	many := strings.Repeat("HTTP/1.1 103 Early Hints⏎⏎", 100) + "HTTP/1.1 200 OK⏎Content-Length: 0⏎⏎"
	tests := map[string]string{
		"not HTTP":               "SSH-2.0-x⏎⏎",
		"a status of two digits": "HTTP/1.1 20 OK⏎⏎",
		"HTTP/2 in text":         "HTTP/2.0 200 OK⏎Content-Length: 0⏎⏎",
		"bare LF":                "HTTP/1.1 200 OK\nContent-Length: 0\n\n",
		"length and coding":      "HTTP/1.1 200 OK⏎Content-Length: 5⏎Transfer-Encoding: chunked⏎⏎0⏎⏎",
		"two lengths":            "HTTP/1.1 200 OK⏎Content-Length: 5⏎Content-Length: 6⏎⏎hello!",
		"a negative length":      "HTTP/1.1 200 OK⏎Content-Length: -5⏎⏎",
		"chunks in HTTP/1.0":     "HTTP/1.0 200 OK⏎Transfer-Encoding: chunked⏎⏎0⏎⏎",
		"a coding without end":   "HTTP/1.1 200 OK⏎Transfer-Encoding: gzip⏎⏎x",
		"a first chunk of junk":  "HTTP/1.1 200 OK⏎Transfer-Encoding: chunked⏎⏎junk⏎",
		"a name with a space":    "HTTP/1.1 200 OK⏎X Y: z⏎Content-Length: 0⏎⏎",
		"NUL":                    "HTTP/1.1 200 OK⏎X: \x00⏎Content-Length: 0⏎⏎",
		"unasked 101":            "HTTP/1.1 101 Switching Protocols⏎Upgrade: x⏎Connection: Upgrade⏎⏎",
		"interims without end":   many,
		"a head of 70000 bytes":  "HTTP/1.1 200 OK⏎X: " + strings.Repeat("x", 70000) + "⏎⏎",
	}
	for name, reply := range tests {
		t.Run(name, func(t *testing.T) {
			addr := between(t, Config{}, OriginConfig{}, func(c *peer) {
				c.message()
				c.say(reply)
				c.rest()
			})
			c := dial(t, addr)
			c.say("GET / HTTP/1.1⏎Host: h⏎⏎")
			got := c.head()
			for strings.HasPrefix(got, "HTTP/1.1 103") {
				got = c.head()
			}
			if !strings.HasPrefix(got, "HTTP/1.1 502 Bad Gateway⏎") || !strings.Contains(got, "⏎X-Graylane-Error: bad_reply⏎") {
				t.Errorf("got %q, want 502 for bad_reply", got)
			}
		})
	}
}

func TestNeverGivesOneReplyToAnother(t *testing.T) {
	const reply = "HTTP/1.1 200 OK⏎Content-Length: 2⏎⏎"
	for name, delay := range map[string]time.Duration{"at once": 0, "later": 50 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			surplus := make(chan struct{}, 2)
			addr := between(t, Config{}, OriginConfig{}, func(c *peer) {
				c.message()
				if delay == 0 {
					c.say(reply + "ok" + reply + "xx")
				} else {
					c.say(reply + "ok")
					timer := time.NewTimer(delay)
					<-timer.C
					c.say(reply + "xx")
				}
				surplus <- struct{}{}
				if more, _ := c.rest(); more != "" {
					t.Errorf("a connection with stray bytes was used again: %q", more)
				}
			})
			for range 2 {
				c := dial(t, addr)
				c.say("GET / HTTP/1.1⏎Host: h⏎⏎")
				if got := c.message(); got != reply+"ok" {
					t.Errorf("got %q, want the first reply", got)
				}
				<-surplus
			}
		})
	}
}

func TestSpeaksHTTP10WithOldCallers(t *testing.T) {
	const chunked = "HTTP/1.1 200 OK⏎Trailer: X⏎Transfer-Encoding: chunked⏎⏎3⏎abc⏎2;x⏎de⏎0⏎X: y⏎⏎"
	const sized = "HTTP/1.1 200 OK⏎Content-Length: 2⏎⏎ok"
	tests := map[string]struct{ say, origin, want string }{
		"chunks are taken apart": {"GET / HTTP/1.0⏎Host: h⏎Connection: keep-alive⏎⏎", chunked, "HTTP/1.1 200 OK⏎Connection: close⏎⏎abcde"},
		"no Host":                {"GET / HTTP/1.0⏎⏎", sized, "HTTP/1.1 200 OK⏎Content-Length: 2⏎Connection: close⏎⏎ok"},
		"no interim replies":     {"GET / HTTP/1.0⏎⏎", "HTTP/1.1 103 Early Hints⏎⏎" + sized, "HTTP/1.1 200 OK⏎Content-Length: 2⏎Connection: close⏎⏎ok"},
		"no expectation":         {"POST / HTTP/1.0⏎Expect: 100-continue⏎Content-Length: 1⏎⏎x", sized, "HTTP/1.1 200 OK⏎Content-Length: 2⏎Connection: close⏎⏎ok"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			heard := make(chan string, 1)
			addr := between(t, Config{}, OriginConfig{}, func(c *peer) {
				heard <- c.message()
				c.say(tt.origin)
				c.rest()
			})
			c := dial(t, addr)
			c.say(tt.say)
			if got, err := c.rest(); got != tt.want || err != nil {
				t.Errorf("got %q, %v, want %q", got, err, tt.want)
			}
			got := <-heard
			if !strings.Contains(got, " HTTP/1.1⏎") || !strings.Contains(got, "⏎Host: ") || strings.Contains(got, "Expect") {
				t.Errorf("the origin heard %q, want HTTP/1.1, a Host and no Expect", got)
			}
		})
	}
	addr := between(t, Config{}, OriginConfig{}, answer(sized))
	c := dial(t, addr)
	for range 3 {
		c.say("GET / HTTP/1.0⏎Host: h⏎Connection: keep-alive⏎⏎")
		if got, want := c.message(), "HTTP/1.1 200 OK⏎Content-Length: 2⏎Connection: keep-alive⏎⏎ok"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// logged is a log that can be read while it is written.
type logged struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// The caller is told that the reply is bad and no more: whoever looks after the app needs the reason.
func TestLogsOnceWhatIsWrongWithReplies(t *testing.T) {
	for reply, want := range map[string]string{
		"HTTP/1.1 200 OK\nContent-Length: 0\n\n":                        errBareLF.Error(),
		"HTTP/1.1 200 OK⏎Content-Length : 0⏎⏎":                          errName.Error(),
		"HTTP/1.1 200 OK⏎X: \x01⏎Content-Length: 0⏎⏎":                   errControl.Error(),
		"HTTP/1.1 200 OK⏎Content-Length: 0⏎Content-Length: 1⏎⏎":         errLengths.Error(),
		"HTTP/1.1 200 OK⏎X: " + strings.Repeat("x", 70<<10) + "⏎⏎":      errReplyHead.Error(),
		"HTTP/1.1 200 OK⏎" + strings.Repeat("a: b⏎", maxFields+1) + "⏎": errFields.Error(),
	} {
		log := &logged{}
		o := NewOrigin(listen(t, func(c *peer) { c.message(); c.say(reply) }), OriginConfig{Log: slog.New(slog.NewTextHandler(log, nil))})
		_, addr := serve(t, Config{}, sendTo(o))
		for range 3 {
			c := dial(t, addr)
			c.say("GET / HTTP/1.1⏎Host: h⏎⏎")
			if got := c.head(); !strings.HasPrefix(got, "HTTP/1.1 502 ") {
				t.Errorf("%.40q: got %.60q, want 502", reply, got)
			}
		}
		got := log.String()
		if n := strings.Count(got, "\n"); n != 1 || !strings.Contains(got, o.Addr()) || !strings.Contains(got, want) {
			t.Errorf("%.40q: logged %q, want one line that names %s and %q", reply, got, o.Addr(), want)
		}
	}
}
