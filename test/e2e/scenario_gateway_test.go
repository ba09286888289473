package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"graylane/test/harness"
)

// crs is a policy for one service behind the gateway's prefix /crs. The keys are those of the service.
func crs(keys string) string {
	return `
routes:
  - path: /crs
    service: crs
    stripPrefix: 1
    cors: {allowOrigins: ["https://shop.example"], allowMethods: [GET, PUT], maxAge: 10m}
rules:
  - {name: testers, tag: gray, matches: [{headers: [{name: X-User-Id, value: "7"}]}]}
services:
  - name: crs
    hosts: [crs]
` + keys
}

const (
	threeAndGray = `
    versions:
      - {tag: base, endpoints: ["{crs-base-1}", "{crs-base-2}", "{crs-base-3}"]}
      - {tag: gray, endpoints: ["{crs-gray-1}"]}
`
	equalParts = "crs-base-1 crs-base-2 crs-base-3"
)

// parts gives each of the names a part of 1.
func parts(names string) map[string]float64 {
	m := make(map[string]float64)
	for name := range strings.FieldsSeq(names) {
		m[name] = 1
	}
	return m
}

// TestScenarioGateway: one gateway in front of several instances.
func TestScenarioGateway(t *testing.T) {
	gateway := harness.FreeAddress(t)
	f := newFleet(t, "crs-base-1", "crs-base-2", "crs-base-3", "crs-gray-1").
		run(crs(threeAndGray), "--gateway", gateway, "--zone", "east", "--tag", "base")
	outside := direct(t, gateway+"/crs", "")
	send := func(int) (*hop, error) { return outside.send("") }

	t.Run("a path prefix names the service, and is stripped", func(t *testing.T) {
		answer, err := direct(t, gateway+"/crs/orders/1", "").send("a=b")
		harness.Must(t, err)
		if answer.Target != "/orders/1/?a=b" {
			t.Errorf("the instance sees %s, want /orders/1/?a=b", answer.Target)
		}
		status, _ := harness.Page("http://" + gateway + "/other")
		if status != http.StatusNotFound {
			t.Errorf("a path without a route: got %d, want 404", status)
		}
	})
	t.Run("the rules decide who is gray, a caller does not", func(t *testing.T) {
		if got := outside.get("", "X-User-Id", "7").Tag; got != "gray" {
			t.Errorf("a tester is served by %s, want gray", got)
		}
		for range 20 {
			if got := outside.get("", "X-Gray", "gray", "baggage", "x-gray=gray").Tag; got != "base" {
				t.Fatalf("a caller who says that it is gray is served by %s, want base", got)
			}
		}
	})
	t.Run("browsers are answered", func(t *testing.T) {
		for _, c := range []struct {
			method, origin, asked string
			status                int
			allow                 string
		}{
			{http.MethodOptions, "https://shop.example", "PUT", 200, "https://shop.example"},
			{http.MethodOptions, "https://shop.example", "DELETE", 403, ""},
			{http.MethodOptions, "https://evil.example", "GET", 403, ""},
			{http.MethodGet, "https://shop.example", "", 200, "https://shop.example"},
			{http.MethodGet, "https://evil.example", "", 403, ""},
		} {
			req, err := http.NewRequestWithContext(t.Context(), c.method, "http://"+gateway+"/crs/1", nil)
			harness.Must(t, err)
			req.Header.Set("Origin", c.origin)
			if c.asked != "" {
				req.Header.Set("Access-Control-Request-Method", c.asked)
			}
			resp, err := outside.client.Do(req)
			harness.Must(t, err)
			harness.Must(t, resp.Body.Close())
			if got := resp.Header.Get("Access-Control-Allow-Origin"); resp.StatusCode != c.status || got != c.allow {
				t.Errorf("%s of %s for %q: got %d allowing %q, want %d allowing %q", c.method, c.origin, c.asked, resp.StatusCode, got, c.status, c.allow)
			}
		}
	})

	for _, c := range []struct {
		name, balance, endpoints string
		parts                    map[string]float64
	}{
		{"round robin", "{type: round-robin}", `["{crs-base-1}", "{crs-base-2}", "{crs-base-3}"]`, parts(equalParts)},
		{
			"round robin by weight", "{type: round-robin}", `[{address: "{crs-base-1}", weight: 3}, "{crs-base-2}", {address: "{crs-base-3}", weight: 0}]`,
			map[string]float64{"crs-base-1": 3, "crs-base-2": 1},
		},
		{"random", "{type: random}", `["{crs-base-1}", "{crs-base-2}", "{crs-base-3}"]`, parts(equalParts)},
		{
			"random by weight", "{type: random}", `[{address: "{crs-base-1}", weight: 5}, {address: "{crs-base-2}", weight: 3}, "{crs-base-3}"]`,
			map[string]float64{"crs-base-1": 5, "crs-base-2": 3, "crs-base-3": 1},
		},
		{"all weights 0", "{type: random}", `[{address: "{crs-base-1}", weight: 0}, {address: "{crs-base-2}", weight: 0}]`, parts("crs-base-1 crs-base-2")},
		{
			"my zone first", "{type: random, zoneFirst: {share: 0.5}}",
			`[{address: "{crs-base-1}", zone: east}, {address: "{crs-base-2}", zone: west}, {address: "{crs-base-3}", zone: east}]`,
			parts("crs-base-1 crs-base-3"),
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			f.change(crs(fmt.Sprintf("    balance: %s\n    versions: [{tag: base, endpoints: %s}]\n", c.balance, c.endpoints)))
			assertShares(t, c.name, f.spread(900, send), c.parts)
		})
	}

	t.Run("three to one, then the next", func(t *testing.T) {
		policy := "    balance: {type: burst, size: 3}\n    versions: [{tag: base, endpoints: [%s]}]\n"
		one, two, three := `"{crs-base-1}"`, `"{crs-base-2}"`, `"{crs-base-3}"`
		f.change(crs(fmt.Sprintf(policy, one+","+two+","+three)))
		order := func(n int) string {
			text := ""
			for range n {
				text += outside.get("").Pod[len("crs-base-"):]
			}
			return text
		}
		if got := order(11); got != "11122233311" {
			t.Errorf("got %s, want 11122233311", got)
		}
		f.change(crs(fmt.Sprintf(policy, one+","+three)))
		if got := order(7); got != "1113331" {
			t.Errorf("after the list changed: got %s, want 1113331", got)
		}
	})
	t.Run("fewer requests under way, more of the next", func(t *testing.T) {
		f.change(crs("    balance: {type: least-request}" + threeAndGray))
		f.instance("crs-base-2").behave(t, "delay=300ms")
		defer f.instance("crs-base-2").behave(t, "")
		served := f.spread(600, send)
		if slow, fast := served["crs-base-2"], served["crs-base-1"]; 3*slow > fast {
			t.Errorf("the slow instance served %d, a fast one %d, want less than a third of that: %v", slow, fast, served)
		}
	})
	t.Run("the slower, the less", func(t *testing.T) {
		f.change(crs("    balance: {type: response-time}" + threeAndGray))
		for name, delay := range map[string]string{"crs-base-1": "50ms", "crs-base-2": "300ms", "crs-base-3": "50ms"} {
			f.instance(name).behave(t, "delay="+delay)
			defer f.instance(name).behave(t, "")
		}
		f.spread(100, send) // to measure
		served := f.spread(600, send)
		slow, fast := served["crs-base-2"], (served["crs-base-1"]+served["crs-base-3"])/2
		if slow == 0 || 2*slow > fast {
			t.Errorf("the slow instance served %d, the fast ones %d each, want some, and less than half of that: %v", slow, fast, served)
		}
	})

	t.Run("instances leave and join by their health", func(t *testing.T) {
		f.change(crs("    health: {path: /health, interval: 100ms, healthyAfter: 2, unhealthyAfter: 2}" + threeAndGray))
		f.instance("crs-base-3").behave(t, "health=503")
		f.waitState("crs-base-3", "out")
		assertShares(t, "two are well", f.spread(300, send), parts("crs-base-1 crs-base-2"))
		f.instance("crs-base-3").behave(t, "")
		f.waitState("crs-base-3", "warming")
		if served := f.spread(300, send); served["crs-base-3"] == 0 {
			t.Errorf("the instance that is well again served nothing: %v", served)
		}
	})
	t.Run("an instance at its limit is passed over", func(t *testing.T) {
		f.change(crs("    limit: {requests: 2, wait: 50ms}" + threeAndGray))
		f.instance("crs-base-1").behave(t, "hang=true")
		defer f.instance("crs-base-1").behave(t, "")
		hanging := make([]*http.Request, 0, 8)
		for range cap(hanging) { // two of them stay
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+gateway+"/crs/", nil)
			harness.Must(t, err)
			hanging = append(hanging, req)
			go func() {
				if resp, err := outside.client.Do(req); err == nil {
					_ = resp.Body.Close()
				}
			}()
		}
		harness.WaitFor(t, "the instance is full", func() bool { return f.endpoints()["crs-base-1"].InFlight == 2 })
		for range 100 {
			if got := outside.get("").Pod; got == "crs-base-1" {
				t.Fatal("an instance at its limit got a request")
			}
		}
	})
}

// TestScenarioGatewayCircuit: who dies is passed over without a failed request, and comes back.
func TestScenarioGatewayCircuit(t *testing.T) {
	t.Parallel()
	gateway := harness.FreeAddress(t)
	f := newFleet(t, "crs-base-1", "crs-base-2", "crs-base-3", "crs-gray-1").run(crs(threeAndGray), "--gateway", gateway)
	outside := direct(t, gateway+"/crs", "")
	l := startLoad(func(int, int) (*hop, error) { return outside.send("") })

	dead := f.instance("crs-base-2")
	dead.app.Kill()
	f.waitState("crs-base-2", "out")
	// What was under way breaks first, and may be enough.
	if why := f.endpoints()["crs-base-2"].Why; !strings.Contains(why, "refused") && !strings.Contains(why, "origin_closed") {
		t.Errorf("the admin port says it is out since %q, want that connections are refused or broke", why)
	}
	dead.restart(t)
	begin := time.Now()
	f.waitState("crs-base-2", "warming")
	if took := time.Since(begin); took > 50*time.Second {
		t.Errorf("it was back after %v, want about 30 s", took)
	}
	before := dead.number(t, "/requests")
	harness.WaitFor(t, "it serves again", func() bool { return dead.number(t, "/requests") > before })
	l.end(t)
	if n := f.sidecar.Metric(t, "graylane_ejections_total", `service="crs"`, `tag="base"`); n < 1 {
		t.Errorf("graylane_ejections_total = %v, want 1 or more", n)
	}
	if got := f.instance("crs-gray-1").number(t, "/requests"); got != 0 {
		t.Errorf("gray served %d base requests", got)
	}
}
