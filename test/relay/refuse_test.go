package relay

import (
	"strings"
	"testing"
	"time"
)

// second is what an attacker wants to be taken for a request of somebody else's.
const second = "GET /second HTTP/1.1⏎Host: shop⏎⏎"

// listens makes the origin answer everything, and gives what came over all connections so far.
func (c *chain) listens(t *testing.T) (heard chan string) {
	heard = make(chan string, 100)
	c.origin.plays(t, func(p *peer) {
		for {
			b := make([]byte, 64<<10)
			n, err := p.Read(b)
			if err != nil {
				return
			}
			heard <- visible(string(b[:n]))
			p.say(ok)
		}
	})
	return heard
}

func drain(heard chan string) string {
	var b strings.Builder
	for len(heard) > 0 {
		b.WriteString(<-heard)
	}
	return b.String()
}

// A26: what can be framed in two ways is refused, or goes on as one message with one framing, and then the connection
// ends. The origin never hears a second request.
func TestNothingIsSmuggled(t *testing.T) {
	c := newChain(t, "")
	const post, chunked = "POST / HTTP/1.1⏎Host: shop⏎", "POST / HTTP/1.1⏎Host: shop⏎Transfer-Encoding: chunked⏎⏎"
	const chunks = "3⏎abc⏎0⏎⏎"
	for name, request := range map[string]string{
		"length and coding":            post + "Content-Length: 3⏎Transfer-Encoding: chunked⏎⏎" + chunks,
		"coding and length":            post + "Transfer-Encoding: chunked⏎Content-Length: 3⏎⏎" + chunks,
		"two lengths":                  post + "Content-Length: 3⏎Content-Length: 5⏎⏎abcde",
		"one length twice":             post + "Content-Length: 3⏎Content-Length: 3⏎⏎abc",
		"a list of lengths":            post + "Content-Length: 3, 3⏎⏎abc",
		"a length with plus":           post + "Content-Length: +3⏎⏎abc",
		"a length with minus":          post + "Content-Length: -3⏎⏎abc",
		"a length in hex":              post + "Content-Length: 0x3⏎⏎abc",
		"a length with an underscore":  post + "Content-Length: 1_0⏎⏎abcdefghij",
		"no length":                    post + "Content-Length:⏎⏎",
		"a length beyond 64 bits":      post + "Content-Length: 18446744073709551619⏎⏎abc",
		"a length before a space":      post + "Content-Length : 3⏎⏎abc",
		"a tab after chunked":          post + "Transfer-Encoding: chunked\t⏎⏎" + chunks,
		"a vertical tab before it":     post + "Transfer-Encoding: \vchunked⏎⏎" + chunks,
		"a space before the colon":     post + "Transfer-Encoding : chunked⏎⏎" + chunks,
		"identity":                     post + "Transfer-Encoding: identity⏎⏎" + chunks,
		"identity and length":          post + "Transfer-Encoding: identity⏎Content-Length: 3⏎⏎abc",
		"gzip and chunked":             post + "Transfer-Encoding: gzip, chunked⏎⏎" + chunks,
		"chunked and gzip":             post + "Transfer-Encoding: chunked, gzip⏎⏎" + chunks,
		"chunked twice":                post + "Transfer-Encoding: chunked, chunked⏎⏎" + chunks,
		"two lines of coding":          post + "Transfer-Encoding: chunked⏎Transfer-Encoding: identity⏎⏎" + chunks,
		"two lines of chunked":         post + "Transfer-Encoding: chunked⏎Transfer-Encoding: chunked⏎⏎" + chunks,
		"xchunked":                     post + "Transfer-Encoding: xchunked⏎⏎" + chunks,
		"chunked in quotes":            post + "Transfer-Encoding: \"chunked\"⏎⏎" + chunks,
		"coding with an underscore":    post + "Transfer_Encoding: chunked⏎⏎" + chunks,
		"a folded coding":              post + "Transfer-Encoding:⏎ chunked⏎⏎" + chunks,
		"chunked in HTTP/1.0":          "POST / HTTP/1.0⏎Host: shop⏎Transfer-Encoding: chunked⏎⏎" + chunks,
		"a chunk size in hex notation": chunked + "0x3⏎abc⏎0⏎⏎",
		"a chunk size with minus":      chunked + "-3⏎abc⏎0⏎⏎",
		"a chunk size with plus":       chunked + "+3⏎abc⏎0⏎⏎",
		"a chunk size beyond 64 bits":  chunked + "10000000000000003⏎abc⏎0⏎⏎",
		"an extension with a bare LF":  chunked + "3;x=\nabc⏎0⏎⏎",
		"chunks that end in bare LF":   chunked + "3\nabc\n0\n\n",
		"chunk data without its end":   chunked + "3⏎abcd⏎0⏎⏎",
		"chunk data with a bare LF":    chunked + "3⏎abc\n0⏎⏎",
		"GET with a length":            "GET / HTTP/1.1⏎Host: shop⏎Content-Length: 3⏎⏎abc",
		"GET with chunks":              "GET / HTTP/1.1⏎Host: shop⏎Transfer-Encoding: chunked⏎⏎" + chunks,
	} {
		t.Run(name, func(t *testing.T) {
			heard := c.listens(t)
			p := c.dial(t)
			p.say(request + second)
			reply := p.reply(methodOf(request))
			p.giveTime(soon)
			more, err := p.rest()
			all := drain(heard)
			one := len(values(all, "Content-Length"))+len(values(all, "Transfer-Encoding")) == 1 && strings.Count(all, " HTTP/1.1⏎") == 1
			switch status := statusOf(reply); {
			case status == "400" && all == "" && more == "" && !isTimeout(err):
			case status == "200" && one && more == "" && !isTimeout(err):
			default:
				t.Errorf("got %q, then %q, %v\nthe origin heard %q\nwant 400 and the end, or one message and the end", reply, more, err, all)
			}
			if strings.Contains(all, "/second") {
				t.Errorf("the origin heard a second request: %q", all)
			}
		})
	}
}

// A26: what frames a message stays with it, so that its body is no request.
func TestConnectionCannotTakeOffTheFraming(t *testing.T) {
	c := newChain(t, "")
	size := int64(len(crlf(second)))
	for name, message := range map[string]string{
		"a length": "Connection: Content-Length⏎Content-Length: " + decimal(size) + "⏎⏎" + second,
		"a coding": "Connection: Transfer-Encoding⏎Transfer-Encoding: chunked⏎⏎" + hexadecimal(size) + "⏎" + second + "⏎0⏎⏎",
	} {
		t.Run(name, func(t *testing.T) {
			request := "POST / HTTP/1.1⏎Host: shop⏎" + message
			heard, got := c.ask(t, request, ok)
			if want := without(request, "Connection"); without(heard, "Connection") != want || without(got, "Connection") != ok {
				t.Errorf("the origin heard\n got %q\nwant %q\nthe caller got %q", heard, want, got)
			}
		})
	}
}

// A27: what is no head by the grammar is refused at once, without waiting for more.
func TestHeadsThatAreNoneAreRefused(t *testing.T) {
	c := newChain(t, "")
	const get = "GET / HTTP/1.1⏎Host: shop⏎"
	for name, request := range map[string]string{
		"a space before the first name": "GET / HTTP/1.1⏎ X-A: 1⏎Host: shop⏎⏎",
		"a space before a colon":        get + "X-A : 1⏎⏎",
		"a tab before a colon":          get + "X-A\t: 1⏎⏎",
		"a folded line":                 get + "X-A: 1⏎ 2⏎⏎",
		"NUL in a value":                get + "X-A: a\x00b⏎⏎",
		"NUL in a name":                 get + "X\x00A: b⏎⏎",
		"a bare CR in a value":          get + "X-A: a\rb⏎⏎",
		"a bare CR at the end":          get + "X-A: a\r\r\n⏎",
		"bare LF ends lines":            "GET / HTTP/1.1\nHost: shop\n\n",
		"bare LF ends the head":         get + "\n",
		"bare LF in the middle":         "GET / HTTP/1.1⏎Host: shop\nX-A: 1⏎⏎",
		"a bare LF alone":               "GET / HTTP/1.1\n",
		"an empty name":                 get + ": 1⏎⏎",
		"no colon":                      get + "X-A⏎⏎",
		"a name that is not ASCII":      get + "X-\xc3\xa4: 1⏎⏎",
		"a name with a slash":           get + "X/A: 1⏎⏎",
		"two Hosts":                     get + "Host: other⏎⏎",
		"one Host twice":                get + "host: shop⏎⏎",
		"a Host with a path":            "GET / HTTP/1.1⏎Host: a/b@c⏎⏎",
		"a Host with a user":            "GET / HTTP/1.1⏎Host: u@shop⏎⏎",
		"a Host with a space":           "GET / HTTP/1.1⏎Host: sh op⏎⏎",
		"no Host":                       "GET / HTTP/1.1⏎X-A: 1⏎⏎",
		"a target with a space":         "GET /a b HTTP/1.1⏎Host: shop⏎⏎",
		"a target with a control":       "GET /a\x01 HTTP/1.1⏎Host: shop⏎⏎",
		"a target that is no path":      "GET a HTTP/1.1⏎Host: shop⏎⏎",
		"a method that is no token":     "G{T / HTTP/1.1⏎Host: shop⏎⏎",
		"TLS":                           "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
	} {
		t.Run(name, func(t *testing.T) {
			heard := c.listens(t)
			p := c.dial(t)
			begin := time.Now()
			p.say(request) // and nothing more: the answer must not wait
			got := p.reply("GET")
			if took := time.Since(begin); took > soon {
				t.Errorf("answered after %v, want %v at most", took, soon)
			}
			if statusOf(got) != "400" {
				t.Errorf("got %q, want 400", got)
			}
			p.giveTime(soon)
			if more, err := p.rest(); more != "" || isTimeout(err) {
				t.Errorf("then %q, %v, want the end", more, err)
			}
			if all := drain(heard); all != "" {
				t.Errorf("the origin heard %q", all)
			}
		})
	}
}
