package relay

import "testing"

// A11, A12: replies without a body say what they said, are there at once, and leave the connection usable.
func TestRepliesWithoutABody(t *testing.T) {
	const head, get = "HEAD / HTTP/1.1⏎Host: shop⏎⏎", "GET / HTTP/1.1⏎Host: shop⏎⏎"
	for _, tt := range []struct{ name, request, reply string }{
		{"HEAD with a length", head, "HTTP/1.1 200 OK⏎Content-Length: 1234⏎⏎"},
		{"HEAD with chunks", head, "HTTP/1.1 200 OK⏎Transfer-Encoding: chunked⏎⏎"},
		{"HEAD with neither", head, "HTTP/1.1 200 OK⏎X: y⏎⏎"},
		{"HEAD of an error", head, "HTTP/1.1 404 Not Found⏎Content-Length: 9⏎⏎"},
		{"204", get, "HTTP/1.1 204 No Content⏎⏎"},
		{"204 of a POST", "POST / HTTP/1.1⏎Host: shop⏎Content-Length: 3⏎⏎abc", "HTTP/1.1 204 No Content⏎X: y⏎⏎"},
		{"205", get, "HTTP/1.1 205 Reset Content⏎⏎"},
		{"205 with a length", get, "HTTP/1.1 205 Reset Content⏎Content-Length: 0⏎⏎"},
		{"304", get, "HTTP/1.1 304 Not Modified⏎ETag: \"x\"⏎⏎"},
		{"304 with the length of what is not sent", get, "HTTP/1.1 304 Not Modified⏎Content-Length: 55⏎⏎"},
		{"a body of length 0", get, "HTTP/1.1 200 OK⏎Content-Length: 0⏎⏎"},
		{"a body of no chunk", get, "HTTP/1.1 200 OK⏎Transfer-Encoding: chunked⏎⏎0⏎⏎"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newChain(t, "") // which knows of no connections that have ended
			c.answers(t, tt.reply)
			p := c.dial(t)
			for range 3 {
				p.say(tt.request)
				p.hears(tt.reply)
			}
			if n := c.origin.connections(); n != 1 {
				t.Errorf("%d connections to the origin, want 1", n)
			}
		})
	}
}
