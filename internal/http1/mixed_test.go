package http1

import (
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"
)

// moody is an origin that answers with the id and the body that it was sent, in one of many ways, and
// now and then ends a connection in the middle of everything.
func moody(c *peer) {
	r := rand.New(rand.NewPCG(3, rand.Uint64()))
	for {
		h := c.head()
		id := part(h, "X-Id: ", "⏎")
		if id == "" {
			return
		}
		if r.IntN(40) == 0 {
			return // without a reply
		}
		var body string
		if n := part(h, "Content-Length: ", "⏎"); n != "" {
			var size int
			_, _ = fmt.Sscan(n, &size)
			body = c.bytes(size)
		} else if strings.Contains(h, "chunked") {
			body = c.unchunked()
		}
		say := "HTTP/1.1 200 OK⏎X-Id: " + id + "⏎"
		head := strings.HasPrefix(h, "HEAD ")
		switch r.IntN(6) {
		case 0:
			c.say("HTTP/1.1 103 Early Hints⏎⏎")
			fallthrough
		case 1:
			say += fmt.Sprintf("Content-Length: %d⏎⏎", len(body)) + body
		case 2:
			say += fmt.Sprintf("Transfer-Encoding: chunked⏎⏎%x⏎%s⏎0⏎⏎", len(body)+1, body+"!")
		case 3:
			c.say(say + "Connection: close⏎⏎" + body)
			return
		case 4:
			c.say(say + fmt.Sprintf("Content-Length: %d⏎⏎", len(body)+9) + body) // cut short
			return
		case 5:
			say += fmt.Sprintf("Content-Length: %d⏎⏎", len(body)) + body + "stray"
		}
		if head {
			say, _, _ = strings.Cut(say, "⏎⏎")
			say += "⏎⏎"
		}
		c.say(say)
	}
}

func part(s, from, to string) string {
	_, s, ok := strings.Cut(s, from)
	if !ok {
		return ""
	}
	s, _, _ = strings.Cut(s, to)
	return s
}

// unchunked reads a chunked body.
func (p *peer) unchunked() string {
	var b strings.Builder
	for {
		var n int
		line, err := p.r.ReadString('\n')
		if _, e := fmt.Sscanf(line, "%x", &n); e != nil || err != nil {
			return b.String()
		}
		b.WriteString(p.bytes(n))
		p.bytes(2)
		if n == 0 {
			return b.String()
		}
	}
}

// Many callers with all kinds of requests, some of which leave in the middle: whatever anybody gets
// is the beginning of an answer to its own request.
func TestNothingIsMixedUp(t *testing.T) {
	const callers, rounds = 24, 60
	addr := between(t, Config{}, OriginConfig{}, moody)
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() {
			r := rand.New(rand.NewPCG(7, uint64(i)))
			c := dial(t, addr)
			for j := range rounds {
				if !exchangeMixed(t, c, r, fmt.Sprintf("%d-%d", i, j)) {
					_ = c.Close()
					c = dial(t, addr)
				}
			}
		})
	}
	all.Wait()
}

// exchangeMixed does one exchange; false: the connection is of no use any more.
func exchangeMixed(t *testing.T, c *peer, r *rand.Rand, id string) bool {
	body := strings.Repeat(id+" ", r.IntN(1<<r.IntN(13)))
	methods := []string{"GET", "HEAD", "POST", "PUT", "DELETE"}
	method := methods[r.IntN(len(methods))]
	head := method + " / HTTP/1.1⏎Host: h⏎X-Id: " + id + "⏎"
	request := head + fmt.Sprintf("Content-Length: %d⏎⏎", len(body)) + body
	switch {
	case method == "GET" || method == "HEAD":
		request, body = head+"⏎", ""
	case r.IntN(2) == 0:
		request = head + fmt.Sprintf("Transfer-Encoding: chunked⏎⏎%x⏎%s⏎0⏎⏎", len(body)+1, "?"+body)
		body = "?" + body
	}
	request = crlf(request)
	cut := r.IntN(len(request))
	c.say(request[:cut])
	if r.IntN(10) == 0 {
		return false // leaves in the middle of its request
	}
	c.say(request[cut:])
	if r.IntN(10) == 0 {
		return false // leaves without reading
	}
	_ = c.SetReadDeadline(time.Now().Add(4 * patient))
	h := c.head()
	for strings.HasPrefix(h, "HTTP/1.1 103") {
		h = c.head()
	}
	if strings.HasPrefix(h, "HTTP/1.1 502 ") {
		return false
	}
	if !strings.HasPrefix(h, "HTTP/1.1 200 ") || part(h, "X-Id: ", "⏎") != id {
		t.Errorf("%s got %q", id, h)
		return false
	}
	if method == "HEAD" {
		return !strings.Contains(h, "Connection: close")
	}
	var got string
	var n int
	switch length := part(h, "Content-Length: ", "⏎"); {
	case length != "":
		_, _ = fmt.Sscan(length, &n)
		got = c.bytes(n)
	case strings.Contains(h, "chunked"):
		got = strings.TrimSuffix(c.unchunked(), "!")
		n = len(got)
	default:
		b, _ := io.ReadAll(c.r)
		got, n = string(b), 0
	}
	if !strings.HasPrefix(body, got) || len(got) == n && got != body {
		t.Errorf("%s sent %d bytes and got %d others back", id, len(body), len(got))
	}
	return len(got) == n && !strings.Contains(h, "Connection: close")
}
