package http1

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"graylane/test/harness"
)

// Every request here could be read in two ways, or is no HTTP/1.1: 400 and the end, at once, and the
// origin hears nothing.
func TestRefusesWhatCouldBeReadInTwoWays(t *testing.T) {
	const post = "POST / HTTP/1.1⏎Host: h⏎"
	const chunked = post + "Transfer-Encoding: chunked⏎⏎"
	tests := map[string]string{
		"length, then coding":           post + "Content-Length: 3⏎Transfer-Encoding: chunked⏎⏎0⏎⏎",
		"coding, then length":           post + "Transfer-Encoding: chunked⏎Content-Length: 3⏎⏎0⏎⏎",
		"two lengths":                   post + "Content-Length: 3⏎Content-Length: 4⏎⏎abcd",
		"the same length twice":         post + "Content-Length: 3⏎Content-Length: 3⏎⏎abc",
		"list of lengths":               post + "Content-Length: 3, 3⏎⏎abc",
		"length with plus":              post + "Content-Length: +3⏎⏎abc",
		"length with minus":             post + "Content-Length: -3⏎⏎abc",
		"length in hex":                 post + "Content-Length: 0x3⏎⏎abc",
		"length with space":             post + "Content-Length: 1 3⏎⏎abc",
		"length empty":                  post + "Content-Length:⏎⏎",
		"length over 64 bits":           post + "Content-Length: 18446744073709551619⏎⏎abc",
		"length by underscore":          post + "Content_Length: 3⏎⏎abc",
		"coding by underscore":          post + "Transfer_Encoding: chunked⏎⏎0⏎⏎",
		"coding with many hyphens":      post + "Transfer---Encoding: chunked⏎⏎0⏎⏎",
		"space before the colon":        post + "Transfer-Encoding : chunked⏎⏎0⏎⏎",
		"coding identity":               post + "Transfer-Encoding: identity⏎⏎abc",
		"coding unknown":                post + "Transfer-Encoding: xchunked⏎⏎0⏎⏎",
		"coding empty":                  post + "Transfer-Encoding:⏎⏎0⏎⏎",
		"chunked twice in a list":       post + "Transfer-Encoding: chunked, chunked⏎⏎0⏎⏎",
		"chunked twice":                 post + "Transfer-Encoding: chunked⏎Transfer-Encoding: chunked⏎⏎0⏎⏎",
		"chunked not last":              post + "Transfer-Encoding: chunked, gzip⏎⏎0⏎⏎",
		"chunked with a comma":          post + "Transfer-Encoding: chunked,⏎⏎0⏎⏎",
		"control in coding":             post + "Transfer-Encoding: \x0bchunked⏎⏎0⏎⏎",
		"chunked in HTTP/1.0":           "POST / HTTP/1.0⏎Host: h⏎Transfer-Encoding: chunked⏎⏎0⏎⏎",
		"chunk size in hex notation":    chunked + "0x3⏎abc⏎0⏎⏎",
		"chunk size negative":           chunked + "-3⏎abc⏎0⏎⏎",
		"chunk size with plus":          chunked + "+3⏎abc⏎0⏎⏎",
		"chunk size with space":         chunked + "3 ⏎abc⏎0⏎⏎",
		"chunk size over 64 bits":       chunked + "10000000000000003⏎abc⏎0⏎⏎",
		"chunk size empty":              chunked + "⏎abc⏎0⏎⏎",
		"chunk line ends in bare LF":    chunked + "3\nabc⏎0⏎⏎",
		"extension ends in bare LF":     chunked + "3;x=\nabc⏎0⏎⏎",
		"bare CR in extension":          chunked + "3;x=\rabc⏎abc⏎0⏎⏎",
		"chunk longer than its size":    chunked + "3⏎abcd⏎0⏎⏎",
		"chunk data ends in bare LF":    chunked + "3⏎abc\n0⏎⏎",
		"trailer that frames":           chunked + "0⏎Content-Length: 5⏎⏎",
		"trailer that routes":           chunked + "0⏎Host: other⏎⏎",
		"trailer without a name":        chunked + "0⏎: x⏎⏎",
		"folded trailer":                chunked + "0⏎X: 1⏎ 2⏎⏎",
		"space before the first name":   "GET / HTTP/1.1⏎ X-A: 1⏎Host: h⏎⏎",
		"space after a name":            "GET / HTTP/1.1⏎Host: h⏎X-A : 1⏎⏎",
		"folded line":                   "GET / HTTP/1.1⏎Host: h⏎X-A: 1⏎ 2⏎⏎",
		"NUL in a value":                "GET / HTTP/1.1⏎Host: h⏎X-A: a\x00b⏎⏎",
		"NUL in a name":                 "GET / HTTP/1.1⏎Host: h⏎X\x00A: b⏎⏎",
		"DEL in a value":                "GET / HTTP/1.1⏎Host: h⏎X-A: \x7f⏎⏎",
		"bare CR in a value":            "GET / HTTP/1.1⏎Host: h⏎X-A: a\rb⏎⏎",
		"bare CR for line ends":         "GET / HTTP/1.1\rHost: h\r\r",
		"bare LF for line ends":         "GET / HTTP/1.1\nHost: h\n\n",
		"bare LF at the end":            "GET / HTTP/1.1⏎Host: h⏎\n",
		"bare LF before the request":    "\nGET / HTTP/1.1⏎Host: h⏎⏎",
		"empty name":                    "GET / HTTP/1.1⏎Host: h⏎: x⏎⏎",
		"line without a colon":          "GET / HTTP/1.1⏎Host: h⏎oops⏎⏎",
		"name beyond ASCII":             "GET / HTTP/1.1⏎Host: h⏎X-\u00e4: x⏎⏎",
		"two Hosts":                     "GET / HTTP/1.1⏎Host: h⏎Host: h⏎⏎",
		"Host with a path":              "GET / HTTP/1.1⏎Host: a/b@c⏎⏎",
		"Host with userinfo":            "GET / HTTP/1.1⏎Host: u@c⏎⏎",
		"Host with a bad port":          "GET / HTTP/1.1⏎Host: c:99999⏎⏎",
		"Host with a space":             "GET / HTTP/1.1⏎Host: a b⏎⏎",
		"no Host":                       "GET / HTTP/1.1⏎X: y⏎⏎",
		"no Host beside absolute-form":  "GET http://h/ HTTP/1.1⏎X: y⏎⏎",
		"target with a space":           "GET /a b HTTP/1.1⏎Host: h⏎⏎",
		"target with a tab":             "GET /a\tb HTTP/1.1⏎Host: h⏎⏎",
		"target without a slash":        "GET a HTTP/1.1⏎Host: h⏎⏎",
		"target of https":               "GET https://h/ HTTP/1.1⏎Host: h⏎⏎",
		"target of no host":             "GET http:///a HTTP/1.1⏎Host: h⏎⏎",
		"asterisk for GET":              "GET * HTTP/1.1⏎Host: h⏎⏎",
		"no target":                     "GET  HTTP/1.1⏎Host: h⏎⏎",
		"two spaces before the version": "GET /  HTTP/1.1⏎Host: h⏎⏎",
		"space after the version":       "GET / HTTP/1.1 ⏎Host: h⏎⏎",
		"no version":                    "GET /⏎Host: h⏎⏎",
		"version in lower case":         "GET / http/1.1⏎Host: h⏎⏎",
		"method that is no token":       "G@T / HTTP/1.1⏎Host: h⏎⏎",
		"CONNECT without a port":        "CONNECT h HTTP/1.1⏎Host: h⏎⏎",
		"CONNECT with a path":           "CONNECT /x HTTP/1.1⏎Host: h⏎⏎",
		"CONNECT with a body":           "CONNECT h:1 HTTP/1.1⏎Host: h⏎Content-Length: 3⏎⏎abc",
		"five empty lines":              "⏎⏎⏎⏎⏎GET / HTTP/1.1⏎Host: h⏎⏎",
		"not HTTP at all":               "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
	}
	heard := make(chan string, 10*len(tests))
	t.Cleanup(func() { // when the origin has ended
		for len(heard) > 0 {
			if s := <-heard; s != "" {
				t.Errorf("the origin heard %q", s)
			}
		}
	})
	addr := between(t, Config{}, OriginConfig{}, func(c *peer) {
		s, _ := c.rest()
		heard <- s
	})
	for name, request := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			harness.Once(t, func() error {
				c := dial(t, addr)
				start := time.Now()
				c.say(request + "GET /second HTTP/1.1⏎Host: h⏎⏎")
				got, err := c.rest()
				took := time.Since(start)
				if !strings.HasPrefix(got, "HTTP/1.1 400 Bad Request⏎") || strings.Count(got, "HTTP/1.1 ") != 1 || err != nil {
					t.Errorf("got %q, %v, want one 400 and the end of the connection", got, err)
				}
				for _, want := range []string{"⏎Connection: close⏎", "⏎X-Graylane-Error: bad_request⏎"} {
					if !strings.Contains(got, want) {
						t.Errorf("got %q, want %q in it", got, want)
					}
				}
				if took > 10*soon {
					return fmt.Errorf("it took %v, want an end at once", took)
				}
				return nil
			})
		})
	}
}

func TestRefusesVersionsThatItDoesNotSpeak(t *testing.T) {
	addr := between(t, Config{}, OriginConfig{}, func(c *peer) { t.Error("the origin was asked") })
	for _, version := range []string{"HTTP/2.0", "HTTP/0.9", "HTTP/3.1"} {
		c := dial(t, addr)
		c.say("GET / " + version + "⏎Host: h⏎⏎")
		if got, _ := c.rest(); !strings.HasPrefix(got, "HTTP/1.1 505 ") {
			t.Errorf("%s: got %q, want 505", version, got)
		}
	}
	c := dial(t, addr)
	c.say("PRI * HTTP/2.0⏎⏎SM⏎⏎")
	if got, _ := c.rest(); !strings.HasPrefix(got, "HTTP/1.1 505 ") {
		t.Errorf("HTTP/2 preface: got %q, want 505", got)
	}
}

func TestRefusesHeadsThatAreTooLarge(t *testing.T) {
	addr := between(t, Config{MaxHead: 20000}, OriginConfig{}, func(c *peer) {
		for c.message() != "" {
			c.say("HTTP/1.1 204 No Content⏎⏎")
		}
	})
	for size, want := range map[int]string{100: "204", 9000: "204", 19000: "204", 21000: "431", 5000000: "431"} {
		c := dial(t, addr)
		go c.say("GET / HTTP/1.1⏎Host: h⏎X: " + strings.Repeat("x", size) + "⏎⏎")
		if got := c.head(); !strings.HasPrefix(got, "HTTP/1.1 "+want) {
			t.Errorf("a line of %d bytes: got %q, want %s", size, got, want)
		}
	}
	for lines, want := range map[int]string{256: "204", 257: "431", 3000: "431"} {
		c := dial(t, addr)
		go c.say("GET / HTTP/1.1⏎Host: h⏎" + strings.Repeat("a:⏎", lines-1) + "⏎")
		if got := c.head(); !strings.HasPrefix(got, "HTTP/1.1 "+want) {
			t.Errorf("%d lines: got %q, want %s", lines, got, want)
		}
	}
}

// Each option is looked for among all lines: tens of thousands fit into a head, and would cost a
// hundred milliseconds.
func TestRefusesTooManyConnectionOptions(t *testing.T) {
	addr := between(t, Config{MaxHead: 20000}, OriginConfig{}, func(c *peer) {
		for c.message() != "" {
			c.say("HTTP/1.1 204 No Content⏎⏎")
		}
	})
	for n, want := range map[int]string{64: "204", 65: "400", 9000: "400"} {
		c := dial(t, addr)
		c.say("GET / HTTP/1.1⏎Host: h⏎Connection: " + strings.Repeat("b,", n) + "⏎⏎")
		if got := c.head(); !strings.HasPrefix(got, "HTTP/1.1 "+want) {
			t.Errorf("%d options: got %q, want %s", n, got, want)
		}
	}
}

func TestRefusesBodiesThatAreTooLarge(t *testing.T) {
	addr := between(t, Config{MaxBody: 4 << 20}, OriginConfig{}, func(c *peer) {
		for c.message() != "" {
			c.say("HTTP/1.1 200 OK⏎Content-Length: 0⏎⏎")
		}
	})
	body := strings.Repeat("b", 4<<20+1)
	c := dial(t, addr)
	c.say("POST / HTTP/1.1⏎Host: h⏎Content-Length: 4194304⏎⏎" + body[1:])
	if got := c.head(); !strings.HasPrefix(got, "HTTP/1.1 200") {
		t.Errorf("4 MiB: got %q, want 200", got)
	}
	c.say("POST / HTTP/1.1⏎Host: h⏎Content-Length: 4194305⏎⏎" + body)
	if got := c.head(); !strings.HasPrefix(got, "HTTP/1.1 413") {
		t.Errorf("4 MiB and a byte: got %q, want 413", got)
	}
	c = dial(t, addr)
	c.say("POST / HTTP/1.1⏎Host: h⏎Transfer-Encoding: chunked⏎⏎400001⏎" + body + "⏎0⏎⏎")
	if got := c.head(); !strings.HasPrefix(got, "HTTP/1.1 413") {
		t.Errorf("4 MiB and a byte, chunked: got %q, want 413", got)
	}
}

func TestPassesRequestsThatAreValidThoughUnusual(t *testing.T) {
	tests := map[string]struct{ say, want string }{
		"an empty line first":         {"⏎GET / HTTP/1.1⏎Host: h⏎⏎", "GET / HTTP/1.1⏎Host: h⏎⏎"},
		"a later minor version":       {"GET /a HTTP/1.2⏎Host: h⏎⏎", "GET /a HTTP/1.1⏎Host: h⏎⏎"},
		"an empty Host":               {"GET / HTTP/1.1⏎Host:⏎⏎", "GET / HTTP/1.1⏎Host:⏎⏎"},
		"an empty value":              {"GET / HTTP/1.1⏎Host: h⏎X:⏎⏎", "GET / HTTP/1.1⏎Host: h⏎X:⏎⏎"},
		"odd spaces":                  {"GET / HTTP/1.1⏎Host: h⏎X:\t a \t⏎⏎", "GET / HTTP/1.1⏎Host: h⏎X:\t a \t⏎⏎"},
		"raw UTF-8":                   {"GET /stra\u00dfe HTTP/1.1⏎Host: h⏎X: \u00e4⏎⏎", "GET /stra\u00dfe HTTP/1.1⏎Host: h⏎X: \u00e4⏎⏎"},
		"a path that looks relative":  {"GET //evil/x/./b/%2e%2e/c HTTP/1.1⏎Host: h⏎⏎", "GET //evil/x/./b/%2e%2e/c HTTP/1.1⏎Host: h⏎⏎"},
		"escapes and plus signs":      {"GET /a%2Fb//c/../d/%41;v=1?x=%20+&y=a//b HTTP/1.1⏎Host: h⏎⏎", "GET /a%2Fb//c/../d/%41;v=1?x=%20+&y=a//b HTTP/1.1⏎Host: h⏎⏎"},
		"OPTIONS *":                   {"OPTIONS * HTTP/1.1⏎Host: h⏎⏎", "OPTIONS * HTTP/1.1⏎Host: h⏎⏎"},
		"a method of its own":         {"PURGE /x HTTP/1.1⏎Host: h⏎⏎", "PURGE /x HTTP/1.1⏎Host: h⏎⏎"},
		"a method in lower case":      {"get / HTTP/1.1⏎Host: h⏎⏎", "get / HTTP/1.1⏎Host: h⏎⏎"},
		"an IPv6 Host":                {"GET / HTTP/1.1⏎Host: [::1]:80⏎⏎", "GET / HTTP/1.1⏎Host: [::1]:80⏎⏎"},
		"duplicates":                  {"GET / HTTP/1.1⏎Cookie: a=1⏎X-Dup: a⏎Host: h⏎Cookie: b=2⏎x-dup: b⏎⏎", "GET / HTTP/1.1⏎Cookie: a=1⏎X-Dup: a⏎Host: h⏎Cookie: b=2⏎x-dup: b⏎⏎"},
		"no length for DELETE":        {"DELETE /a HTTP/1.1⏎Host: h⏎⏎", "DELETE /a HTTP/1.1⏎Host: h⏎⏎"},
		"absolute-form":               {"GET http://other:81/p//q?r HTTP/1.1⏎host: h⏎X: y⏎⏎", "GET /p//q?r HTTP/1.1⏎host: other:81⏎X: y⏎⏎"},
		"absolute-form, no path":      {"GET http://other HTTP/1.1⏎Host: h⏎⏎", "GET / HTTP/1.1⏎Host: other⏎⏎"},
		"absolute-form, only a query": {"GET http://other?a=b HTTP/1.1⏎Host: h⏎⏎", "GET /?a=b HTTP/1.1⏎Host: other⏎⏎"},
		"absolute-form of OPTIONS":    {"OPTIONS http://other HTTP/1.1⏎Host: h⏎⏎", "OPTIONS * HTTP/1.1⏎Host: other⏎⏎"},
		"userinfo is dropped":         {"GET http://u:p@other/p HTTP/1.1⏎Host: h⏎⏎", "GET /p HTTP/1.1⏎Host: other⏎⏎"},
		"a scheme in upper case":      {"GET HTTP://other/p HTTP/1.1⏎Host: h⏎⏎", "GET /p HTTP/1.1⏎Host: other⏎⏎"},
		"POST without a Content-Type": {"POST /a HTTP/1.1⏎Host: h⏎Content-Length: 3⏎⏎abc", "POST /a HTTP/1.1⏎Host: h⏎Content-Length: 3⏎⏎abc"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			heard := make(chan string, 1)
			addr := between(t, Config{}, OriginConfig{}, func(c *peer) {
				heard <- c.message()
				c.say("HTTP/1.1 204 No Content⏎⏎")
			})
			c := dial(t, addr)
			c.say(tt.say)
			if got := c.head(); got != "HTTP/1.1 204 No Content⏎⏎" {
				t.Fatalf("reply: got %q, want the origin's 204", got)
			}
			if got := <-heard; got != tt.want {
				t.Errorf("the origin heard\n got %q\nwant %q", got, tt.want)
			}
		})
	}
}

// What others may frame differently goes to the origin once, and nothing follows it on either side.
func TestEndsBothConnectionsAfterAnOddlyFramedRequest(t *testing.T) {
	const chunks = "3⏎abc⏎0⏎⏎"
	tests := map[string]struct{ say, want string }{
		"GET with a body":        {"GET / HTTP/1.1⏎Host: h⏎Content-Length: 3⏎⏎abc", "GET / HTTP/1.1⏎Host: h⏎Content-Length: 3⏎Connection: close⏎⏎abc"},
		"HEAD with chunks":       {"HEAD / HTTP/1.1⏎Host: h⏎Transfer-Encoding: chunked⏎⏎" + chunks, "HEAD / HTTP/1.1⏎Host: h⏎Transfer-Encoding: chunked⏎Connection: close⏎⏎" + chunks},
		"a tab after chunked":    {"POST / HTTP/1.1⏎Host: h⏎Transfer-Encoding: chunked\t⏎⏎" + chunks, "POST / HTTP/1.1⏎Host: h⏎Transfer-Encoding: chunked⏎Connection: close⏎⏎" + chunks},
		"no space after a colon": {"POST / HTTP/1.1⏎Host: h⏎Transfer-Encoding:chunked⏎⏎" + chunks, "POST / HTTP/1.1⏎Host: h⏎Transfer-Encoding: chunked⏎Connection: close⏎⏎" + chunks},
		"a parameter":            {"POST / HTTP/1.1⏎Host: h⏎Transfer-Encoding: chunked;p⏎⏎" + chunks, "POST / HTTP/1.1⏎Host: h⏎Transfer-Encoding: chunked;p⏎Connection: close⏎⏎" + chunks},
		"two lines":              {"POST / HTTP/1.1⏎Host: h⏎Transfer-Encoding: gzip⏎Transfer-Encoding: chunked⏎⏎" + chunks, "POST / HTTP/1.1⏎Host: h⏎Transfer-Encoding: gzip⏎Transfer-Encoding: chunked⏎Connection: close⏎⏎" + chunks},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			heard := make(chan string, 1)
			addr := between(t, Config{}, OriginConfig{}, func(c *peer) {
				h := c.bytes(len(crlf(tt.want)))
				c.say("HTTP/1.1 200 OK⏎Content-Length: 0⏎⏎")
				more, _ := c.rest()
				heard <- h + more
			})
			c := dial(t, addr)
			c.say(tt.say + "GET /second HTTP/1.1⏎Host: h⏎⏎")
			got, err := c.rest()
			if want := "HTTP/1.1 200 OK⏎Content-Length: 0⏎Connection: close⏎⏎"; got != want || err != nil {
				t.Errorf("reply: got %q, %v, want %q", got, err, want)
			}
			if got := <-heard; got != tt.want {
				t.Errorf("the origin heard\n got %q\nwant %q", got, tt.want)
			}
		})
	}
}
