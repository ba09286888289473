package http1

import (
	"fmt"
	"strings"
	"testing"

	"graylane/test/harness"
)

func TestDrains(t *testing.T) {
	begun, release := make(chan bool), make(chan bool)
	play := func(c *peer) {
		for h := c.message(); h != ""; h = c.message() {
			if strings.Contains(h, "/slow") {
				begun <- true
				<-release
			}
			c.say("HTTP/1.1 200 OK⏎Content-Length: 0⏎⏎")
		}
	}
	for name, closes := range map[string]bool{"with the end announced": true, "silently": false} {
		t.Run(name, func(t *testing.T) {
			o := NewOrigin(listen(t, play), OriginConfig{})
			end := "Connection: close⏎"
			if !closes {
				end = ""
			}
			want := "HTTP/1.1 200 OK⏎Content-Length: 0⏎" + end + "⏎"
			var s *Server
			var addr string
			var idle, busy *peer
			harness.Once(t, func() error {
				s, addr = serve(t, Config{CloseOnDrain: closes}, sendTo(o))
				idle, busy = dial(t, addr), dial(t, addr)
				young := dial(t, addr)
				for _, c := range []*peer{idle, young} {
					c.say("GET / HTTP/1.1⏎Host: h⏎⏎")
					c.head()
				}
				busy.say("GET /slow HTTP/1.1⏎Host: h⏎⏎")
				<-begun
				s.Drain()
				young.say("GET / HTTP/1.1⏎Host: h⏎⏎")
				if got := young.head(); got != want {
					release <- true
					return fmt.Errorf("a request on a connection that was idle for less than a second: got %q, want %q", got, want)
				}
				return nil
			})
			if t.Failed() {
				return
			}
			fresh := dial(t, addr)
			fresh.say("GET / HTTP/1.1⏎Host: h⏎⏎")
			if got := fresh.head(); got != want {
				t.Errorf("a request while draining: got %q, want %q", got, want)
			}
			release <- true
			if got := busy.head(); got != want {
				t.Errorf("the request in flight: got %q, want %q", got, want)
			}
			if !closes {
				idle.say("GET / HTTP/1.1⏎Host: h⏎⏎")
				if got := idle.head(); got != want {
					t.Errorf("an idle connection: got %q, want %q", got, want)
				}
				return
			}
			if got, err := idle.rest(); got != "" || err != nil {
				t.Errorf("an idle connection: got %q, %v, want its end", got, err)
			}
			harness.WaitFor(t, "all connections have ended", func() bool { return s.Conns() == 0 })
		})
	}
}

func TestCloseCutsEverything(t *testing.T) {
	ended := make(chan error, 2)
	o := NewOrigin(listen(t, silent(ended)), OriginConfig{})
	s, addr := serve(t, Config{}, sendTo(o))
	idle, busy := dial(t, addr), dial(t, addr)
	busy.say("GET / HTTP/1.1⏎Host: h⏎⏎")
	harness.WaitFor(t, "both are connected", func() bool { return s.Active() == 1 && s.Conns() == 2 })
	s.Close()
	idle.rest()
	busy.rest()
	<-ended
}
