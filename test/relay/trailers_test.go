package relay

import (
	"strings"
	"testing"
)

// A08: trailers arrive as trailers, announced or not.
func TestTrailersArriveAsTrailers(t *testing.T) {
	c := newChain(t, "")
	const body = "Transfer-Encoding: chunked⏎⏎5⏎hello⏎6;x=y⏎ world⏎0⏎"
	for _, tt := range []struct{ name, announced, trailers string }{
		{"announced", "Trailer: X-T⏎", "X-T: 1⏎"},
		{"not announced", "", "x-t: 1⏎"},
		{"some are", "Trailer: X-T, Server-Timing⏎", "X-T: 1⏎Server-Timing: a⏎grpc-status: 0⏎x-t: 2⏎"},
		{"announced and missing", "Trailer: X-T⏎", ""},
		{"none", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			message := tt.announced + body + tt.trailers + "⏎"
			request, reply := "POST / HTTP/1.1⏎Host: shop⏎"+message, "HTTP/1.1 200 OK⏎"+message
			for range 2 {
				heard, got := c.ask(t, request, reply)
				if heard != request {
					t.Errorf("the origin heard\n got %q\nwant %q", heard, request)
				}
				if got != reply {
					t.Errorf("the caller got\n got %q\nwant %q", got, reply)
				}
			}
		})
	}
}

// A08: what frames or routes a message cannot come after it. The half of the request that the origin has is not made
// a whole one.
func TestAForbiddenTrailerEndsTheRequest(t *testing.T) {
	c := newChain(t, "")
	for _, trailer := range []string{"Content-Length: 3", "transfer-encoding: chunked", "Host: other", "Content-Type: x", "X Y: z"} {
		t.Run(trailer, func(t *testing.T) {
			half, all := make(chan struct{}), make(chan string, 1)
			c.origin.plays(t, func(p *peer) {
				head := p.head()
				p.hears("5⏎hello⏎")
				close(half)
				rest, _ := p.rest()
				all <- head + rest
			})
			p := c.dial(t)
			p.say("POST / HTTP/1.1⏎Host: shop⏎Transfer-Encoding: chunked⏎⏎5⏎hello⏎")
			<-half
			p.say("0⏎" + trailer + "⏎⏎GET /second HTTP/1.1⏎Host: shop⏎⏎")
			got, _ := p.rest()
			if statusOf(got) != "400" || strings.Count(got, "HTTP/1.1 ") != 1 {
				t.Errorf("the caller got %q, want one 400 and the end", got)
			}
			if heard := <-all; strings.Contains(heard, trailer) || strings.HasSuffix(heard, "0⏎⏎") {
				t.Errorf("the origin heard %q, want half a request and the end", heard)
			}
		})
	}
}

// A08: nothing of a reply can be taken back, so one that is under way ends without a regular end.
func TestAForbiddenTrailerEndsTheReply(t *testing.T) {
	c := newChain(t, "")
	for _, trailer := range []string{"Content-Length: 3", "Transfer-Encoding: chunked", "Set-Cookie: a=b"} {
		t.Run(trailer, func(t *testing.T) {
			const half = "HTTP/1.1 200 OK⏎Transfer-Encoding: chunked⏎⏎5⏎hello⏎"
			arrived := make(chan struct{})
			c.origin.plays(t, func(p *peer) {
				p.message()
				p.say(half)
				<-arrived
				p.say("0⏎" + trailer + "⏎⏎")
				_, _ = p.rest()
			})
			p := c.dial(t)
			p.say("GET / HTTP/1.1⏎Host: shop⏎⏎")
			p.hears(half)
			close(arrived)
			p.giveTime(soon)
			if more, err := p.rest(); more != "" || isTimeout(err) {
				t.Errorf("the caller got %q, %v, want nothing more and the end of the connection", more, err)
			}
		})
		t.Run(trailer+" in one piece", func(t *testing.T) {
			_, got := c.ask(t, "GET / HTTP/1.1⏎Host: shop⏎⏎", "HTTP/1.1 200 OK⏎Transfer-Encoding: chunked⏎⏎5⏎hello⏎0⏎"+trailer+"⏎⏎")
			if statusOf(got) == "200" && strings.HasSuffix(got, "0⏎⏎") || len(values(got, "Set-Cookie")) > 0 {
				t.Errorf("the caller got %q, want no such trailer and no regular end", got)
			}
		})
	}
}
