package http1

import (
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestMovesTheFirstByteAtOnce(t *testing.T) {
	const post = "POST / HTTP/1.1⏎Host: h⏎"
	tests := map[string]struct{ head, first, rest string }{
		"length": {post + "Content-Length: 20000⏎⏎", "abc", strings.Repeat("x", 19997)},
		"chunks": {post + "Transfer-Encoding: chunked⏎⏎", "3⏎abc⏎", "2⏎de⏎0⏎⏎"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			seen := make(chan time.Duration)
			addr := between(t, Config{}, OriginConfig{}, func(c *peer) {
				for c.bytes(len(crlf(tt.head))) != "" {
					_, took := c.timed(len(crlf(tt.first)))
					seen <- took
					c.say("HTTP/1.1 200 OK⏎Transfer-Encoding: chunked⏎⏎5⏎early⏎") // before the rest has come
					if got := c.bytes(len(crlf(tt.rest))); got != tt.rest {
						t.Errorf("rest of the request: got %d bytes, want %d", len(got), len(tt.rest))
					}
					c.say("4⏎late⏎0⏎⏎")
				}
			})
			promptly(t, func() (latest time.Duration) {
				c := dial(t, addr)
				for range 2 {
					c.say(tt.head + tt.first)
					upload := <-seen
					const early, late = "HTTP/1.1 200 OK⏎Transfer-Encoding: chunked⏎⏎5⏎early⏎", "4⏎late⏎0⏎⏎"
					got, first := c.timed(len(crlf(early)))
					if got != early {
						t.Errorf("early reply: got %q, want %q", got, early)
					}
					c.say(tt.rest)
					got, second := c.timed(len(crlf(late)))
					if got != late {
						t.Errorf("late reply: got %q, want %q", got, late)
					}
					latest = max(latest, upload, first, second)
				}
				return latest
			})
		})
	}
}

func TestAWholeEarlyReplyDoesNotEndTheUpload(t *testing.T) {
	addr := between(t, Config{}, OriginConfig{}, func(c *peer) {
		for {
			h := c.head()
			if h == "" {
				return
			}
			c.say("HTTP/1.1 200 OK⏎Content-Length: 2⏎⏎ok")
			if strings.Contains(h, "40000") {
				c.bytes(40000)
			}
		}
	})
	const reply = "HTTP/1.1 200 OK⏎Content-Length: 2⏎⏎ok"
	promptly(t, func() time.Duration {
		c := dial(t, addr)
		c.say("POST / HTTP/1.1⏎Host: h⏎Content-Length: 40000⏎⏎abc")
		_, took := c.timed(len(crlf(reply)))
		c.say(strings.Repeat("x", 39997) + "GET / HTTP/1.1⏎Host: h⏎⏎")
		if got := c.message(); got != reply {
			t.Errorf("the next request: got %q, want %q", got, reply)
		}
		return took
	})
}

// An origin that refuses an upload and hangs up resets its connection; its reply gets through all
// the same, and the caller can read it.
func TestAnEarlyRefusalReachesACallerThatIsStillUploading(t *testing.T) {
	const refusal = "HTTP/1.1 413 Content Too Large⏎Content-Length: 2⏎Connection: close⏎⏎no"
	addr := between(t, Config{}, OriginConfig{}, func(c *peer) {
		c.head()
		c.say(refusal)
	})
	for range 20 {
		c := dial(t, addr)
		go func() {
			c.say("POST / HTTP/1.1⏎Host: h⏎Content-Length: 10000000⏎⏎")
			_, _ = io.CopyN(c.Conn, zeros{}, 10000000)
		}()
		if got := c.message(); got != refusal {
			t.Errorf("got %q, want %q", got, refusal)
		}
	}
}

func TestPassesEventsAtOnce(t *testing.T) {
	for _, framing := range []string{"Transfer-Encoding: chunked⏎⏎", "⏎"} {
		addr := between(t, Config{}, OriginConfig{}, func(c *peer) {
			c.message()
			c.say("HTTP/1.1 200 OK⏎Content-Type: text/event-stream⏎" + framing + "b⏎data: 1⏎⏎⏎")
			c.rest()
		})
		promptly(t, func() time.Duration {
			c := dial(t, addr)
			c.say("GET / HTTP/1.1⏎Host: h⏎⏎")
			c.head()
			got, took := c.timed(9)
			if !strings.HasPrefix(got, "b⏎data: ") {
				t.Errorf("got %q, want the event", got)
			}
			return took
		})
	}
}

func TestPassesTrailersOfRequests(t *testing.T) {
	const request = "POST / HTTP/1.1⏎Host: h⏎Trailer: X-T⏎Transfer-Encoding: chunked⏎⏎5⏎hello⏎0⏎X-T: 1⏎x-unannounced: 2⏎⏎"
	heard := make(chan string, 1)
	addr := between(t, Config{}, OriginConfig{}, func(c *peer) {
		for got := c.bytes(len(crlf(request))); got != ""; got = c.bytes(len(crlf(request))) {
			heard <- got
			c.say("HTTP/1.1 204 No Content⏎⏎")
		}
	})
	for _, parts := range [][]string{{request}, strings.SplitAfter(request, "")} {
		c := dial(t, addr)
		for _, p := range parts {
			c.say(p)
		}
		if got := c.head(); got != "HTTP/1.1 204 No Content⏎⏎" {
			t.Fatalf("got %q, want the origin's 204", got)
		}
		if got := <-heard; got != request {
			t.Errorf("\n got %q\nwant %q", got, request)
		}
	}
}

func TestABadTrailerEndsTheHalfSentRequest(t *testing.T) {
	ended := make(chan string, 1)
	begun := make(chan bool)
	addr := between(t, Config{}, OriginConfig{}, func(c *peer) {
		h := c.head() + c.bytes(10)
		begun <- true
		more, _ := c.rest()
		ended <- h + more
	})
	c := dial(t, addr)
	c.say("POST / HTTP/1.1⏎Host: h⏎Transfer-Encoding: chunked⏎⏎5⏎hello⏎")
	<-begun
	c.say("0⏎Content-Length: 3⏎⏎")
	if got := c.head(); !strings.HasPrefix(got, "HTTP/1.1 400 ") || !strings.Contains(got, "⏎Connection: close⏎") {
		t.Errorf("got %q, want 400 and an end", got)
	}
	if got := <-ended; strings.Contains(got, "Content-Length") {
		t.Errorf("the origin heard %q, want no forbidden trailer", got)
	}
}

// Chunks of all sizes, cut anywhere, come out as they went in, in both directions.
func TestPassesChunksHoweverTheyAreCut(t *testing.T) {
	const request, reply = "POST / HTTP/1.1⏎Host: h⏎Transfer-Encoding: chunked⏎⏎", "HTTP/1.1 200 OK⏎Transfer-Encoding: chunked⏎⏎"
	r := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	for b.Len() < 1<<20 {
		n := 1 + r.IntN(1<<r.IntN(15))
		fmt.Fprintf(&b, "%x;n=%d\r\n%s\r\n", n, n, strings.Repeat(string(rune('a'+r.IntN(26))), n))
	}
	for name, body := range map[string]string{
		"all sizes": b.String(),
		"one byte":  strings.Repeat("1\r\nx\r\n", 1<<17), // some line is cut at the end of every buffer
	} {
		t.Run(name, func(t *testing.T) {
			body += "0\r\nX-T: 1\r\n\r\n"
			addr := between(t, Config{}, OriginConfig{}, func(c *peer) {
				for c.head() != "" {
					c.say(reply)
					_, _ = io.CopyN(c.Conn, c.r, int64(len(body)))
				}
			})
			for _, most := range []int{1 << 10, 1 << 17, len(body)} {
				c := dial(t, addr)
				go func() {
					c.say(request)
					for rest := body; rest != ""; {
						n := min(1+r.IntN(most), len(rest))
						c.say(rest[:n])
						rest = rest[n:]
					}
				}()
				c.head()
				if got := c.bytes(len(body)); got != visible(body) {
					t.Fatalf("%d bytes came back, not the %d that were sent", len(got), len(body))
				}
			}
		})
	}
}

func TestMemoryStaysFlatWhileALargeBodyPasses(t *testing.T) {
	const size = 1 << 28
	addr := between(t, Config{}, OriginConfig{}, func(c *peer) {
		c.head()
		n, _ := io.CopyN(io.Discard, c.r, size)
		c.say("HTTP/1.1 200 OK⏎Content-Length: 268435456⏎⏎")
		if n == size {
			_, _ = io.CopyN(c.Conn, zeros{}, size)
		}
	})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	c := dial(t, addr)
	_ = c.SetDeadline(time.Now().Add(20 * patient))
	c.say("POST / HTTP/1.1⏎Host: h⏎Content-Length: 268435456⏎⏎")
	if _, err := io.CopyN(c.Conn, zeros{}, size); err != nil {
		t.Fatal(err)
	}
	c.head()
	if n, err := io.CopyN(io.Discard, c.r, size); n != size {
		t.Errorf("%d bytes of the reply came (%v), want %d", n, err, size)
	}
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 8<<20 {
		t.Errorf("%d bytes were allocated, want a few MiB at most", grown)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }
