package outbound_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"graylane/pkg/outbound"
)

// gatewayOf serves the gateway of a pod, and returns its address.
func gatewayOf(t *testing.T, p *pod) string {
	t.Helper()
	return serve(t, outbound.Gateway{Outbound: p.Outbound})
}

// routed is a policy for users with base and gray, and the routes.
func routed(routes string, base, gray *origin) string {
	return fmt.Sprintf(`
apiVersion: graylane.dev/v1
routes:
%s
rules:
  - {name: testers, tag: gray, matches: [{headers: [{name: X-User-Id, value: "7"}]}, {path: {value: /crs/beta}}, {headers: [{name: X-Gray, value: please}]}]}
services:
  - name: users
    hosts: [users]
    versions: [{tag: base, endpoints: [%q]}, {tag: gray, endpoints: [%q]}]
`, routes, base.addr, gray.addr)
}

// call sends one request to the address and returns the reply with its body.
func call(t *testing.T, method, url string, headers ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Add(headers[i], headers[i+1])
	}
	if host := req.Header.Get("Host"); host != "" {
		req.Host = host
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(body)
}

func TestGatewaySendsByPathAndBelievesNobody(t *testing.T) {
	base, gray := newOrigin(t, "base"), newOrigin(t, "gray")
	p := newPod(t, routed("  - {path: /crs, service: users, stripPrefix: 1}\n  - {path: /users, service: users}\n", base, gray))
	p.Marks.Tag = "gray" // of the pod, not of its callers
	addr := gatewayOf(t, p)
	p.remember("gray", parent)
	for _, c := range []struct {
		name, path string
		headers    []string
		status     int
		by, sees   string // sees: the path at who served it
		told       string // X-Gray there
	}{
		{"a prefix is stripped", "/crs/a/b?c=d", nil, 200, "base", "/a/b?c=d", "base"},
		{"the prefix alone", "/crs", nil, 200, "base", "/", "base"},
		{"a prefix stays", "/users/1", nil, 200, "base", "/users/1", "base"},
		{"a path as it was sent", "/crs/a%2Fb//c", nil, 200, "base", "/a%2Fb//c", "base"},
		{"a rule decides", "/crs/a", []string{"X-User-Id", "7"}, 200, "gray", "/a", "gray"},
		{"rules see the path as it was sent", "/crs/beta/1", nil, 200, "gray", "/beta/1", "gray"},
		{"a tag is not believed", "/crs/a", []string{"X-Gray", "gray", "Baggage", "x-gray=gray", "Tracestate", "graylane=gray", "Traceparent", parent}, 200, "base", "/a", "base"},
		{"a trace that is remembered is not believed", "/crs/a", []string{"Traceparent", parent}, 200, "base", "/a", "base"},
		{"but a rule may ask for what came", "/crs/a", []string{"X-Gray", "please", "Baggage", "x-gray=blue"}, 200, "gray", "/a", "gray"},
		{"no route", "/other", nil, 404, "no_route", "", ""},
		{"no route, but nearly", "/crsx", nil, 404, "no_route", "", ""},
		{"a way around the prefix", "/x/../crs/a", nil, 400, "bad_path", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			resp, body := call(t, http.MethodGet, "http://"+addr+c.path, c.headers...)
			if reason := resp.Header.Get("X-Graylane-Error"); reason != "" {
				body = reason
			}
			if resp.StatusCode != c.status || body != c.by {
				t.Fatalf("got %d by %q, want %d by %q", resp.StatusCode, body, c.status, c.by)
			}
			if c.sees == "" {
				return
			}
			served := map[string]*origin{"base": base, "gray": gray}[c.by]
			if got := *served.target.Load(); got != c.sees {
				t.Errorf("it sees %s, want %s", got, c.sees)
			}
			if got := served.got("X-Gray"); got != c.told {
				t.Errorf("X-Gray at who served it: got %q, want %q", got, c.told)
			}
			if got, want := served.got("Baggage"), "x-gray="+c.told; got != want {
				t.Errorf("baggage at who served it: got %q, want %q", got, want)
			}
		})
	}
}

func TestGatewayIsNoProxy(t *testing.T) {
	base, gray := newOrigin(t, "base"), newOrigin(t, "gray")
	p := newPod(t, routed("  - {path: /, service: users}\n", base, gray))
	conn, err := net.Dial("tcp", gatewayOf(t, p))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	from := bufio.NewReader(conn)
	for _, target := range []string{gray.addr, "users:80"} {
		fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: %[1]s\r\n\r\n", target)
		resp, err := http.ReadResponse(from, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusNotFound {
			t.Errorf("CONNECT %s: got %d, want 404", target, resp.StatusCode)
		}
	}
}

func TestALoopOverTwoGatewaysEnds(t *testing.T) {
	one, other := newPod(t, ""), newPod(t, "")
	ends := map[*pod]string{one: gatewayOf(t, one), other: gatewayOf(t, other)}
	const loop = `
apiVersion: graylane.dev/v1
routes: [{path: /, service: users}]
services: [{name: users, hosts: [users], versions: [{tag: base, endpoints: [%q]}]}]
`
	one.apply(t, fmt.Sprintf(loop, ends[other]))
	other.apply(t, fmt.Sprintf(loop, ends[one]))
	resp, _ := call(t, http.MethodGet, "http://"+ends[one]+"/")
	if resp.StatusCode != 508 || resp.Header.Get("X-Graylane-Error") != "loop" {
		t.Errorf("got %d %v, want 508 by loop", resp.StatusCode, resp.Header)
	}
}

func TestTheServicesOwnCORSIsReplaced(t *testing.T) {
	base, gray := newOrigin(t, "base"), newOrigin(t, "gray")
	base.says = map[string]string{"Access-Control-Allow-Origin": "*", "Access-Control-Allow-Credentials": "true"}
	p := newPod(t, routed("  - {path: /a, service: users, cors: {allowOrigins: ['https://a.example']}}\n  - {path: /none, service: users}\n", base, gray))
	addr := gatewayOf(t, p)
	for _, c := range []struct{ name, path, origin, allowed, credentials string }{
		{"a page that may", "/a", "https://a.example", "https://a.example", ""},
		{"no page", "/a", "", "", ""},
		{"a route that leaves it to the service", "/none", "https://b.example", "*", "true"},
	} {
		t.Run(c.name, func(t *testing.T) {
			resp, _ := call(t, http.MethodGet, "http://"+addr+c.path, "Origin", c.origin)
			allowed, credentials := resp.Header.Get("Access-Control-Allow-Origin"), resp.Header.Get("Access-Control-Allow-Credentials")
			if allowed != c.allowed || credentials != c.credentials {
				t.Errorf("got %q with credentials %q, want %q with %q", allowed, credentials, c.allowed, c.credentials)
			}
		})
	}
}

func TestPagesOfTheGatewaysOwnHostNeedNoPermission(t *testing.T) {
	base, gray := newOrigin(t, "base"), newOrigin(t, "gray")
	p := newPod(t, routed("  - {path: /, service: users, cors: {allowOrigins: ['https://a.example']}}\n", base, gray))
	addr := gatewayOf(t, p)
	for _, c := range []struct {
		host, origin string
		status       int
	}{
		{"shop", "https://shop", 200},
		{"shop:443", "https://shop", 200},
		{"Shop:80", "http://shop", 200},
		{"shop:8443", "https://shop:8443", 200},
		{"shop:80", "https://shop", 403},
		{"shop:443", "http://shop", 403},
		{"shop:8443", "https://shop", 403},
		{"shop.example", "https://shop", 403},
		{"shop", "shop", 403},
	} {
		resp, _ := call(t, http.MethodPost, "http://"+addr+"/", "Host", c.host, "Origin", c.origin)
		if resp.StatusCode != c.status {
			t.Errorf("%s for a page of %s: got %d, want %d", c.host, c.origin, resp.StatusCode, c.status)
		}
	}
}

func TestGatewayWithoutAPolicySaysSo(t *testing.T) {
	resp, _ := call(t, http.MethodGet, "http://"+gatewayOf(t, newPod(t, ""))+"/")
	if resp.StatusCode != 503 || resp.Header.Get("X-Graylane-Error") != "no_policy" {
		t.Errorf("got %d %v, want 503 by no_policy", resp.StatusCode, resp.Header)
	}
}

func TestWhatAStrangerSaysGoesNoFurtherWhereNothingIsDecided(t *testing.T) {
	base, gray := newOrigin(t, "base"), newOrigin(t, "gray")
	p := newPod(t, strings.Replace(routed("  - {path: /, service: users}\n", base, gray), "\nroutes:", "\ndecide: first-match\nroutes:", 1))
	_, by := call(t, http.MethodGet, "http://"+gatewayOf(t, p)+"/", "X-Gray", "gray", "Baggage", "a=1,x-gray=gray", "Traceparent", parent, "Tracestate", "graylane=gray")
	if x, b, s := base.got("X-Gray"), base.got("Baggage"), base.got("Tracestate"); by != "base" || x != "" || b != "a=1" || s != "" {
		t.Errorf("served by %s with X-Gray %q, baggage %q and tracestate %q, want base with a=1 alone", by, x, b, s)
	}
}

func TestGatewayObeysTheSwitch(t *testing.T) {
	base, gray := newOrigin(t, "base"), newOrigin(t, "gray")
	p := newPod(t, "enabled: false\n"+routed("  - {path: /, service: users}\n", base, gray))
	if _, by := call(t, http.MethodGet, "http://"+gatewayOf(t, p)+"/", "X-User-Id", "7"); by != "base" {
		t.Errorf("a tester was served by %s, want base", by)
	}
}

func TestGatewayAnswersBrowsers(t *testing.T) {
	base, gray := newOrigin(t, "base"), newOrigin(t, "gray")
	p := newPod(t, routed(`
  - {path: /some, service: users, cors: {allowOrigins: ["https://a.example"], allowMethods: [GET, PUT], allowHeaders: [X-A], allowCredentials: true, maxAge: 1h}}
  - {path: /any, service: users, cors: {allowOrigins: ["*"], allowMethods: ["*"], allowHeaders: ["*"]}}
  - {path: /none, service: users}
`, base, gray))
	addr := gatewayOf(t, p)
	const origin, method, names = "Origin", "Access-Control-Request-Method", "Access-Control-Request-Headers"
	some := map[string]string{"Origin": "https://a.example", "Credentials": "true"}
	asked := map[string]string{"Origin": "https://a.example", "Credentials": "true", "Methods": "GET, PUT", "Max-Age": "3600"}
	with := func(m map[string]string, key, value string) map[string]string {
		c := map[string]string{key: value}
		for k, v := range m {
			c[k] = v
		}
		return c
	}
	for _, c := range []struct {
		name, method, path string
		headers            []string
		status             int
		by                 string
		allow              map[string]string // Access-Control-Allow- and Max-Age
		vary               string
	}{
		{"no page of another origin", "GET", "/some", nil, 200, "base", map[string]string{}, "Origin"},
		{"a page that may", "GET", "/some", []string{origin, "https://a.example"}, 200, "base", some, "Origin"},
		{"a page that may not", "GET", "/some", []string{origin, "https://b.example"}, 403, "", map[string]string{}, "Origin"},
		{"a method that it may not use", "DELETE", "/some", []string{origin, "https://a.example"}, 403, "", map[string]string{}, "Origin"},
		{"a page of the gateway's own host", "DELETE", "/some", []string{origin, "http://" + addr}, 200, "base", map[string]string{}, "Origin"},
		{"a question", "OPTIONS", "/some", []string{origin, "https://a.example", method, "PUT"}, 200, "", asked, "Origin"},
		{"a question with headers", "OPTIONS", "/some", []string{origin, "https://a.example", method, "PUT", names, "x-a"}, 200, "", with(asked, "Headers", "x-a"), "Origin"},
		{"a question with other headers", "OPTIONS", "/some", []string{origin, "https://a.example", method, "PUT", names, "x-a,x-b"}, 403, "", map[string]string{}, "Origin"},
		{"a question for another method", "OPTIONS", "/some", []string{origin, "https://a.example", method, "DELETE"}, 403, "", map[string]string{}, "Origin"},
		{"OPTIONS that is no question", "OPTIONS", "/some", nil, 200, "base", map[string]string{}, "Origin"},
		{"any page", "GET", "/any", []string{origin, "https://b.example"}, 200, "base", map[string]string{"Origin": "*"}, ""},
		{"a question of any page", "OPTIONS", "/any", []string{origin, "null", method, "PATCH", names, "x-z"}, 200, "", map[string]string{"Origin": "*", "Methods": "PATCH", "Headers": "x-z"}, ""},
		{"the service answers", "OPTIONS", "/none", []string{origin, "https://b.example", method, "PATCH"}, 200, "base", map[string]string{}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			resp, body := call(t, c.method, "http://"+addr+c.path, c.headers...)
			if resp.Header.Get("X-Graylane-Error") != "" {
				body = ""
			}
			if resp.StatusCode != c.status || body != c.by {
				t.Errorf("got %d by %q, want %d by %q", resp.StatusCode, body, c.status, c.by)
			}
			got := map[string]string{}
			for name := range resp.Header {
				if key, ok := strings.CutPrefix(name, "Access-Control-"); ok {
					got[strings.TrimPrefix(key, "Allow-")] = resp.Header.Get(name)
				}
			}
			if diff := cmp.Diff(got, c.allow); diff != "" {
				t.Errorf("what the browser is told differs (-got +want):\n%s", diff)
			}
			if got := resp.Header.Get("Vary"); got != c.vary {
				t.Errorf("Vary: got %q, want %q", got, c.vary)
			}
		})
	}
}
