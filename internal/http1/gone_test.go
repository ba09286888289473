package http1

import (
	"net"
	"testing"
	"time"
)

func TestAHandlerHearsThatTheCallerHasLeft(t *testing.T) {
	for name, leave := range map[string]func(s *Server, c *net.TCPConn){
		"closed":            func(_ *Server, c *net.TCPConn) { _ = c.Close() },
		"reset":             func(_ *Server, c *net.TCPConn) { _ = c.SetLinger(0); _ = c.Close() },
		"cut by the Server": func(s *Server, _ *net.TCPConn) { s.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			begun, heard := make(chan bool), make(chan bool)
			s, addr := serve(t, Config{}, handlerFunc(func(x *Exchange) {
				gone := x.Gone()
				if string(x.Req.Path()) == "/first" {
					x.Reply(200, "", "")
					return
				}
				begun <- true
				select {
				case <-gone:
				case <-t.Context().Done():
					return
				}
				<-x.Gone() // however often it is asked
				heard <- true
			}))
			c := dial(t, addr)
			c.say("GET /first HTTP/1.1⏎Host: h⏎⏎")
			c.head()
			c.say("GET / HTTP/1.1⏎Host: h⏎⏎")
			<-begun
			leave(s, c.Conn.(*net.TCPConn))
			select {
			case <-heard:
			case <-time.After(patient):
				t.Error("the handler waits on")
			}
		})
	}
}

func TestAHandlerMayTakeLongerThanAHead(t *testing.T) {
	t.Parallel()
	const short = 300 * time.Millisecond
	o := NewOrigin(listen(t, answer("HTTP/1.1 204 No Content⏎⏎")), OriginConfig{})
	_, addr := serve(t, Config{HeadTimeout: short}, handlerFunc(func(x *Exchange) {
		select {
		case <-x.Gone():
			t.Error("the caller counts as gone")
		case <-time.After(short + 4*tick):
		}
		if err := x.Send(o); err != nil {
			t.Error(err)
		}
	}))
	c := dial(t, addr)
	c.say("GET / HTTP/1.1⏎Host: h⏎⏎")
	if got, want := c.head(), "HTTP/1.1 204 No Content⏎⏎"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
