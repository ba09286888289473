package http1

import (
	"errors"
	"strings"
	"testing"

	"graylane/test/harness"
)

// sender is a sidecar that tells what became of each request.
func sender(t *testing.T, o *Origin) (addr string, errs chan error) {
	t.Helper()
	errs = make(chan error, 1)
	_, addr = serve(t, Config{}, handlerFunc(func(x *Exchange) {
		err := x.Send(o)
		errs <- err
		if err != nil {
			x.Fail(err)
		}
	}))
	t.Cleanup(o.Close)
	return addr, errs
}

func TestASidecarWhoseAppIsAwaySendsTheRequestElsewhere(t *testing.T) {
	for name, request := range map[string]string{
		"GET":  "GET / HTTP/1.1⏎Host: h⏎⏎",
		"POST": "POST / HTTP/1.1⏎Host: h⏎Content-Length: 1⏎⏎x",
	} {
		t.Run(name, func(t *testing.T) {
			app := NewOrigin(harness.FreeAddress(t), OriginConfig{})
			_, callee := serve(t, Config{Sidecars: true}, sendTo(app))
			addr, errs := sender(t, NewOrigin(callee, OriginConfig{Sidecar: true}))
			c := dial(t, addr)
			c.say(request)
			if e, ok := errors.AsType[*Error](<-errs); !ok || !e.Retryable || e.Op != "connect" || e.Reason != ConnectRefused {
				t.Errorf("got %+v, want %s that may be tried elsewhere", e, ConnectRefused)
			}
			if got := c.head(); !strings.HasPrefix(got, "HTTP/1.1 502 ") || !strings.Contains(got, "X-Graylane-Error: connect_refused⏎") {
				t.Errorf("the caller got %q, want 502", got)
			}
		})
	}
}

func TestASidecarWhoseAppDiesHasIdempotentRequestsRepeated(t *testing.T) {
	for _, tt := range []struct {
		request    string
		repeatable bool
	}{
		{"GET / HTTP/1.1⏎Host: h⏎⏎", true},
		{"PUT / HTTP/1.1⏎Host: h⏎Content-Length: 1⏎⏎x", true},
		{"POST / HTTP/1.1⏎Host: h⏎Content-Length: 1⏎⏎x", false},
	} {
		app := NewOrigin(listen(t, func(c *peer) { c.message() }), OriginConfig{})
		_, callee := serve(t, Config{Sidecars: true}, sendTo(app))
		addr, errs := sender(t, NewOrigin(callee, OriginConfig{Sidecar: true}))
		c := dial(t, addr)
		c.say(tt.request)
		e, ok := errors.AsType[*Error](<-errs)
		if !ok || e.Reason != OriginClosed || e.Retryable || e.Repeatable != tt.repeatable {
			t.Errorf("%s: got %+v, want %s that may be repeated: %v", tt.request, e, OriginClosed, tt.repeatable)
		}
		if got := c.head(); !strings.HasPrefix(got, "HTTP/1.1 502 ") || strings.Contains(got, "graylane-") {
			t.Errorf("the caller got %q, want 502 that says no more", got)
		}
	}
}

// Only the sidecar that the reply comes from may say so, and only where one may be: what others say says nothing.
func TestRepliesThatAreNoSidecarsArePassedOn(t *testing.T) {
	const option = "HTTP/1.1 502 Bad Gateway⏎Connection: graylane-unsent⏎Content-Length: 0⏎⏎"
	tests := []struct {
		name, reply string
		cfg         OriginConfig
	}{
		{"an error handed on by a proxy", "HTTP/1.1 502 Bad Gateway⏎X-Graylane-Error: connect_refused⏎Content-Length: 0⏎⏎", OriginConfig{Sidecar: true}},
		{"the option with a good reply", "HTTP/1.1 200 OK⏎Connection: graylane-unsent⏎Content-Length: 0⏎⏎", OriginConfig{Sidecar: true}},
		{"the option on another line", "HTTP/1.1 502 Bad Gateway⏎Graylane-Unsent: 1⏎Content-Length: 0⏎⏎", OriginConfig{Sidecar: true}},
		{"the option by an app, or by a stranger", option, OriginConfig{}},
		{"the other one", strings.Replace(option, "unsent", "unanswered", 1), OriginConfig{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			origin := NewOrigin(listen(t, func(c *peer) {
				c.message()
				c.say(tt.reply)
			}), tt.cfg)
			addr, errs := sender(t, origin)
			c := dial(t, addr)
			c.say("GET / HTTP/1.1⏎Host: h⏎⏎")
			if err := <-errs; err != nil {
				t.Errorf("got %v, want the reply passed on", err)
			}
			if got := c.head(); strings.Contains(got, "Connection: graylane") || got[:12] != tt.reply[:12] {
				t.Errorf("the caller got %q, want %q without the option", got, tt.reply)
			}
		})
	}
}

// An app that copies the headers of replies would say it of itself.
func TestAnAppIsNotTold(t *testing.T) {
	addr, errs := sender(t, NewOrigin(harness.FreeAddress(t), OriginConfig{Sidecar: true}))
	c := dial(t, addr)
	c.say("GET / HTTP/1.1⏎Host: h⏎⏎")
	if e, ok := errors.AsType[*Error](<-errs); !ok || e.Reason != ConnectRefused {
		t.Errorf("got %+v, want %s", e, ConnectRefused)
	}
	if got := c.head(); !strings.HasPrefix(got, "HTTP/1.1 502 ") || strings.Contains(got, "unsent") {
		t.Errorf("got %q, want a 502 that says no more", got)
	}
}

// Of a body that is gone there is nothing left to send.
func TestALongRequestIsNotSentElsewhere(t *testing.T) {
	body := strings.Repeat("x", 1<<20)
	origin := NewOrigin(listen(t, func(c *peer) {
		c.message()
		c.say("HTTP/1.1 502 Bad Gateway⏎Connection: graylane-unsent⏎Content-Length: 0⏎⏎")
	}), OriginConfig{Sidecar: true})
	addr, errs := sender(t, origin)
	c := dial(t, addr)
	c.say("POST / HTTP/1.1⏎Host: h⏎Content-Length: 1048576⏎⏎" + body)
	if e, ok := errors.AsType[*Error](<-errs); !ok || e.Retryable || e.Repeatable {
		t.Errorf("got %+v, want an error that ends it", e)
	}
	if got := c.head(); !strings.HasPrefix(got, "HTTP/1.1 502 ") {
		t.Errorf("the caller got %q, want 502", got)
	}
}

func TestASidecarThatDrainsSaysThatItLeaves(t *testing.T) {
	for name, tt := range map[string]struct {
		drain, sidecar, want bool
	}{
		"it drains":                  {drain: true, sidecar: true, want: true},
		"it does not":                {sidecar: true},
		"what drains is no endpoint": {drain: true},
	} {
		t.Run(name, func(t *testing.T) {
			app := NewOrigin(listen(t, func(c *peer) {
				c.message()
				c.say("HTTP/1.1 200 OK⏎Content-Length: 0⏎⏎")
			}), OriginConfig{})
			t.Cleanup(app.Close)
			callee, to := serve(t, Config{Sidecars: true, CloseOnDrain: true}, sendTo(app))
			if tt.drain {
				callee.Drain()
			}
			o := NewOrigin(to, OriginConfig{Sidecar: tt.sidecar})
			t.Cleanup(o.Close)
			leaving := make(chan bool, 1)
			_, addr := serve(t, Config{}, handlerFunc(func(x *Exchange) {
				if err := x.Send(o); err != nil {
					t.Error(err)
				}
				leaving <- x.Leaving()
			}))
			c := dial(t, addr)
			c.say("GET / HTTP/1.1⏎Host: h⏎⏎")
			if got := <-leaving; got != tt.want {
				t.Errorf("leaving: got %v, want %v", got, tt.want)
			}
			if got := c.head(); strings.Contains(got, "Connection:") {
				t.Errorf("the caller got %q, want nothing of another connection", got)
			}
		})
	}
}
