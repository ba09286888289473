package http1

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRelaysARequestAndItsReply(t *testing.T) {
	seen := make(chan string, 9)
	addr := between(t, Config{}, OriginConfig{}, func(c *peer) {
		for {
			h := c.message()
			if h == "" {
				return
			}
			seen <- h
			c.say("HTTP/1.1 200 Fine⏎etag: \"x\"⏎WWW-Authenticate: A⏎Content-Length: 2⏎⏎ok")
		}
	})
	c := dial(t, addr)
	for range 3 {
		c.say("POST /a%2Fb//c/../d HTTP/1.1⏎host: h⏎x-lower: 1⏎X-UPPER: 2⏎Content-Length: 3⏎⏎abc")
		want := "POST /a%2Fb//c/../d HTTP/1.1⏎host: h⏎x-lower: 1⏎X-UPPER: 2⏎Content-Length: 3⏎⏎abc"
		if d := cmp.Diff(want, <-seen); d != "" {
			t.Errorf("request at the origin (-want +got):\n%s", d)
		}
		want = "HTTP/1.1 200 Fine⏎etag: \"x\"⏎WWW-Authenticate: A⏎Content-Length: 2⏎⏎ok"
		if d := cmp.Diff(want, c.message()); d != "" {
			t.Errorf("reply at the caller (-want +got):\n%s", d)
		}
	}
}
