package relay

import (
	"slices"
	"strings"
	"testing"
)

// A24: what concerns one hop goes no further, in either direction.
func TestHeadersOfOneHopGoNoFurther(t *testing.T) {
	c := newChain(t, "")
	const get = "GET / HTTP/1.1⏎Host: shop⏎"
	for _, tt := range []struct{ name, lines, want string }{
		{"what Connection names", "Connection: keep-alive, X-Secret⏎X-Secret: s⏎X-A: 1⏎", "X-A: 1⏎"},
		{"in any case, on several lines", "connection: x-secret⏎X-SECRET: s⏎Connection: X-Other⏎x-other: o⏎X-A: 1⏎", "X-A: 1⏎"},
		{"Keep-Alive", "Keep-Alive: timeout=5⏎X-A: 1⏎", "X-A: 1⏎"},
		{"Proxy-Connection", "Proxy-Connection: keep-alive⏎X-A: 1⏎", "X-A: 1⏎"},
		{"Proxy-Authorization", "Proxy-Authorization: Basic x⏎X-A: 1⏎", "X-A: 1⏎"},
		{"TE", "TE: gzip⏎X-A: 1⏎", "X-A: 1⏎"},
		{"h2c", "Connection: Upgrade, HTTP2-Settings⏎Upgrade: h2c⏎HTTP2-Settings: s⏎X-A: 1⏎", "X-A: 1⏎"},
		{"an Upgrade that Connection does not name", "Upgrade: websocket⏎X-A: 1⏎", "X-A: 1⏎"},
		{"but what belongs to the request stays", "Connection: Host, Cookie, Authorization, Content-Type⏎Cookie: c⏎Authorization: a⏎Content-Type: t⏎", "Cookie: c⏎Authorization: a⏎Content-Type: t⏎"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			heard, got := c.ask(t, get+tt.lines+"⏎", ok)
			if want := get + tt.want + "⏎"; heard != want || got != ok {
				t.Errorf("the origin heard\n got %q\nwant %q\nthe caller got %q", heard, want, got)
			}
		})
	}
	t.Run("of replies", func(t *testing.T) {
		_, got := c.ask(t, get+"⏎", "HTTP/1.1 200 OK⏎Connection: X-R⏎X-R: 1⏎Keep-Alive: timeout=5⏎Proxy-Connection: keep-alive⏎X-A: 1⏎Content-Length: 0⏎⏎")
		if want := "HTTP/1.1 200 OK⏎X-A: 1⏎Content-Length: 0⏎⏎"; got != want {
			t.Errorf("the caller got %q, want %q", got, want)
		}
	})
}

// A24: TE: trailers may stay, as a word of our own hop.
func TestTETrailersStays(t *testing.T) {
	c := newChain(t, "")
	heard, _ := c.ask(t, "GET / HTTP/1.1⏎Host: shop⏎Connection: TE⏎TE: trailers, deflate;q=0.5⏎⏎", ok)
	if got := values(heard, "TE"); len(got) > 1 || len(got) == 1 && got[0] != "trailers" {
		t.Errorf("TE is %q, want trailers or none", got)
	}
	if got := values(heard, "Connection"); len(values(heard, "TE")) == 1 && (len(got) != 1 || got[0] != "TE") {
		t.Errorf("Connection is %q, want TE named", got)
	}
}

// A24: the end of a caller's connection is not the end of the origin's.
func TestTheCallersCloseIsNotTheOrigins(t *testing.T) {
	c := newChain(t, "")
	messages := c.answers(t, ok)
	for range 3 {
		p := c.dial(t)
		p.say("GET / HTTP/1.1⏎Host: shop⏎Connection: close, X-Secret⏎X-Secret: s⏎⏎")
		if got, want := p.reply("GET"), "HTTP/1.1 200 OK⏎Content-Length: 2⏎Connection: close⏎⏎ok"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		p.ends()
		if heard := <-messages; len(values(heard, "Connection"))+len(values(heard, "X-Secret")) > 0 {
			t.Errorf("the origin heard %q", heard)
		}
	}
	if n := c.origin.connections(); n != 1 {
		t.Errorf("%d connections to the origin, want 1", n)
	}
}

// A24: the origin's end is not the caller's either.
func TestTheOriginsCloseIsNotTheCallers(t *testing.T) {
	c := newChain(t, "")
	c.origin.plays(t, func(p *peer) {
		p.message()
		p.say("HTTP/1.1 200 OK⏎Connection: close⏎Content-Length: 2⏎⏎ok")
	})
	p := c.dial(t)
	for range 3 {
		p.say("GET / HTTP/1.1⏎Host: shop⏎⏎")
		p.hears(ok)
	}
}

// A24: nobody gets rid of a tag or a trace by naming it in Connection.
func TestConnectionCannotTakeOffTheMark(t *testing.T) {
	c := newChain(t, "")
	const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	names := "X-Gray, traceparent, tracestate, baggage, X-Request-Id, b3"
	for _, connection := range []string{names, strings.ToLower(names) + ", close", "close, " + strings.ToUpper(names)} {
		messages := c.answers(t, ok)
		p := c.dial(t)
		p.say("GET / HTTP/1.1⏎Host: shop⏎Connection: " + connection + "⏎X-Gray: gray⏎traceparent: " + parent +
			"⏎tracestate: a=b⏎baggage: c=d⏎X-Request-Id: r⏎b3: 0⏎⏎")
		p.reply("GET")
		heard := <-messages
		for name, want := range map[string]string{
			"X-Gray": "gray", "traceparent": parent, "tracestate": "graylane=gray,a=b", "baggage": "x-gray=gray,c=d", "X-Request-Id": "r", "b3": "0",
		} {
			if got := values(heard, name); !slices.Equal(got, []string{want}) {
				t.Errorf("%s is %q, want %q once", name, got, want)
			}
		}
	}
}

// A35: no value breaks out of its line, neither by the policy nor by what a caller encodes.
func TestValuesStayInTheirLine(t *testing.T) {
	c := newChain(t, "")
	for _, line := range []string{
		"baggage: x-gray=gray%0d%0aX-Auth:%20admin", "baggage: x-gray=%0d%0aX-Auth%3a%20admin", "baggage: x-gray=gray%0aX-Auth: admin",
		"X-Gray: gray%0d%0aX-Auth: admin", "tracestate: graylane=gray%0d%0aX-Auth: admin",
	} {
		t.Run(line, func(t *testing.T) {
			messages := c.answers(t, ok)
			p := c.dial(t)
			p.say("GET / HTTP/1.1⏎Host: shop⏎" + line + "⏎⏎")
			p.hears(ok)
			heard := <-messages
			if got := values(heard, "X-Auth"); len(got) > 0 {
				t.Errorf("the origin heard X-Auth: %q", got)
			}
			if got := values(heard, "X-Gray"); !slices.Equal(got, []string{"base"}) {
				t.Errorf("X-Gray is %q, want base once", got)
			}
		})
	}
}
