package relay

import (
	"strings"
	"testing"
)

// A05: the target arrives as it was written.
func TestTargetsArriveAsTheyWereWritten(t *testing.T) {
	c := newChain(t, "")
	for _, target := range []string{
		"/", "/?", "/a?b?c#d", "*",
		"/a%2Fb//c/../d/%41;v=1?x=%20+&y=a//b",
		"/encoded/Y%2BY%2FY%3D/stuff",
		"//evil/x", "///", "/./", "/../../etc/passwd",
		"/a/./b/%2e%2e/c", "/%", "/%zz", "/a%00b", "/a\\b",
		"/stra\u00dfe/\u65e5\u672c?q=\u00e4", "/\xe4\xf6\xff",
		"/[x]{y}|z^`\"<>", "/" + strings.Repeat("long/", 2000),
	} {
		t.Run(target[:min(40, len(target))], func(t *testing.T) {
			method := "GET "
			if target == "*" {
				method = "OPTIONS "
			}
			request := method + target + " HTTP/1.1⏎Host: shop⏎⏎"
			heard, got := c.ask(t, request, ok)
			if heard != request || got != ok {
				t.Errorf("the origin heard\n got %q\nwant %q\nthe caller got %q", heard, request, got)
			}
		})
	}
}

// A05: rules read the path in its normal form, so that no spelling gets around them.
func TestNoSpellingOfAPathGetsAroundARule(t *testing.T) {
	c := newChain(t, `
rules:
  - {name: admin, tag: gray, matches: [{path: {value: /admin}}]}
`)
	for target, tag := range map[string]string{
		"/admin": "gray", "/admin/x?y": "gray", "/%61dmin": "gray", "//admin": "gray", "/x/../admin": "gray",
		"/./admin": "gray", "/x/%2e%2e/admin": "gray", "/%61%64%6D%69%6e/": "gray",
		"/administrator": "base", "/x?/admin": "base", "/x/admin": "base", "/Admin": "base",
	} {
		t.Run(target, func(t *testing.T) {
			messages := c.answers(t, ok)
			p := c.dial(t)
			p.say("GET " + target + " HTTP/1.1⏎Host: shop⏎⏎")
			p.hears(ok)
			heard := <-messages
			if got := values(heard, "X-Gray"); len(got) != 1 || got[0] != tag {
				t.Errorf("X-Gray is %q, want %q", got, tag)
			}
			if !strings.HasPrefix(heard, "GET "+target+" HTTP/1.1⏎") {
				t.Errorf("the origin heard %q, want the target as it was", heard)
			}
		})
	}
}

// A33: absolute-form wins over Host, goes on in origin-form, and gives no Authorization.
func TestAbsoluteFormGoesOnInOriginForm(t *testing.T) {
	c := newChain(t, "")
	for _, tt := range []struct{ request, want string }{
		{"GET http://other:81/p//q HTTP/1.1⏎Host: h⏎⏎", "GET /p//q HTTP/1.1⏎Host: other:81⏎⏎"},
		{"GET http://u:p@shop/p HTTP/1.1⏎Host: h⏎⏎", "GET /p HTTP/1.1⏎Host: shop⏎⏎"},
		{"GET http://SHOP/%41?x=%20 HTTP/1.1⏎Host: shop⏎⏎", "GET /%41?x=%20 HTTP/1.1⏎Host: SHOP⏎⏎"},
		{"GET http://shop HTTP/1.1⏎Host: h⏎⏎", "GET / HTTP/1.1⏎Host: shop⏎⏎"},
		{"GET http://shop?x HTTP/1.1⏎Host: h⏎⏎", "GET /?x HTTP/1.1⏎Host: shop⏎⏎"},
		{"OPTIONS http://shop HTTP/1.1⏎Host: h⏎⏎", "OPTIONS * HTTP/1.1⏎Host: shop⏎⏎"},
	} {
		t.Run(tt.request, func(t *testing.T) {
			heard, got := c.ask(t, tt.request, ok)
			if heard != tt.want || got != ok {
				t.Errorf("the origin heard\n got %q\nwant %q\nthe caller got %q", heard, tt.want, got)
			}
		})
	}
}

// A host that no service claims is passed on with nothing of ours, in origin-form (one sidecar, as to any stranger).
func TestStrangersHearNothingOfUs(t *testing.T) {
	c := newChain(t, "")
	messages := c.answers(t, ok)
	address := c.origin.address()
	for _, tt := range []struct{ request, want string }{
		{"GET http://" + address + "/p HTTP/1.1⏎Host: h⏎X-A: 1⏎⏎", "GET /p HTTP/1.1⏎Host: " + address + "⏎X-A: 1⏎⏎"},
		{"GET /p HTTP/1.1⏎Host: " + address + "⏎X-Gray: gray⏎baggage: a=b,x-gray=gray⏎⏎", "GET /p HTTP/1.1⏎Host: " + address + "⏎baggage: a=b⏎⏎"},
	} {
		t.Run(tt.request, func(t *testing.T) {
			p := c.dial(t)
			p.say(tt.request)
			p.hears(ok)
			if heard := <-messages; heard != tt.want {
				t.Errorf("the stranger heard\n got %q\nwant %q", heard, tt.want)
			}
		})
	}
}
