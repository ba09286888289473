package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"graylane/internal/listen"
	"graylane/pkg/policy"
	"graylane/test/harness"
)

// The tops of policies that the test below puts over the same rules.
const (
	ownWords   = "headerValues: {gray: \"on\", base: \"Off!\"}\n"
	ownHeaders = "header: X-Team\nacceptHeaders: [X-Gray, x-mse-tag]\n"
	firstMatch = "decide: first-match\n"
)

// What explain says of a request is what a sidecar does with it, at each of its
// sides, whatever the policy says of the header and of who decides.
func TestExplainSaysWhatASidecarDoes(t *testing.T) {
	teapot := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	app, stranger := httptest.NewServer(teapot), httptest.NewServer(teapot)
	t.Cleanup(app.Close)
	t.Cleanup(stranger.Close)
	for name, c := range map[string]struct{ top, tag string }{
		"plain":            {"", "base"},
		"first-match":      {firstMatch, "base"},
		"words":            {ownWords, "base"},
		"headers":          {ownHeaders, "base"},
		"all of them":      {firstMatch + ownWords + ownHeaders, "base"},
		"off":              {"enabled: false\n" + firstMatch + ownWords, "gray"},
		"nobody":           {"trust: []\n" + firstMatch + ownHeaders, "base"},
		"an edge":          {firstMatch + ownWords + "# edge\n", "base"},
		"a gray pod":       {"", "gray"},
		"a blue pod":       {firstMatch + ownWords, "blue"},
		"an edge of blues": {"# edge\n", "blue"},
	} {
		t.Run(name, func(t *testing.T) {
			address := app.Listener.Addr().String()
			path := file(t, "policy.yaml", explained(c.top, address))
			r := start(t, path, "--access-log", "--service=users", "--app="+address, "--tag="+c.tag)
			harness.WaitFor(t, "the policy is in force", func() bool { return len(r.log.with(t, "policy in force")) == 1 })
			ways := []way{
				{"inbound", r.inbound.set, question{service: "users"}},
				{"outbound", r.outbound.set, question{fromTag: c.tag}},
				{"gateway", r.gateway.set, question{gateway: true}},
			}
			random := rand.New(rand.NewPCG(1, 2))
			var sent []exchange
			for n := range 60 {
				for _, w := range ways {
					raw := randomHead(random, w.direction, n, stranger.Listener.Addr().String())
					call(t, w.set.Listeners()[0].Addr().String(), raw)
					sent = append(sent, exchange{w.direction, raw, w.explain(t, path, raw)})
				}
			}
			harness.WaitFor(t, "all is logged", func() bool { return len(r.log.with(t, "request")) == len(sent) })
			done := map[string]map[string]any{}
			for _, record := range r.log.with(t, "request") {
				done[record["path"].(string)] = record
			}
			for _, s := range sent {
				s.compare(t, done[strings.Fields(s.raw)[1]])
			}
		})
	}
}

// way is a side of a sidecar, and how explain is told to ask as it.
type way struct {
	direction string
	set       *listen.Set
	question  question
}

func explained(top, address string) string {
	edge := ""
	if strings.Contains(top, "# edge") {
		edge = "edge: true, "
	}
	return "apiVersion: graylane.dev/v1\n" + top + `
rules:
  - {name: testers, tag: gray, matches: [{headers: [{name: X-User-Id, value: "7"}]}]}
  - {name: nobody, tag: base, matches: [{headers: [{name: X-User-Id, value: "8"}]}]}
  - {name: blues, tag: blue, matches: [{cookies: [{name: team, value: blue}], not: {headers: [{name: X-User-Id, type: Present}]}}]}
  - {name: marked, tag: blue, matches: [{headers: [{name: baggage, type: Suffix, value: "x-gray="}]}]}
  - {name: named, tag: blue, matches: [{path: {value: /billing}, headers: [{name: X-Request-Id, type: Present}, {name: X-Session, type: Present}]}]}
  - {name: part, tag: gray, matches: [{path: {value: /shop/a}}], percent: 50, by: {header: X-Session}}
  - {name: half, tag: gray, percent: 50, by: {header: X-Session}}
routes:
  - {path: /shop, service: users, stripPrefix: 1, cors: {allowOrigins: ["https://shop.example"], allowMethods: [GET, PUT]}}
  - {path: /shop/orders, service: orders, cors: {allowOrigins: ["*"], allowMethods: ["*"]}}
  - {path: /billing, service: billing, stripPrefix: 2}
services:
  - {name: users, ` + edge + `versions: [{tag: base, endpoints: ["` + address + `"]}, {tag: gray, endpoints: ["` + address + `"]}]}
  - {name: orders, versions: [{tag: base, endpoints: ["` + address + `"]}, {tag: gray, endpoints: []}]}
  - {name: billing, fallback: none, versions: [{tag: base, endpoints: ["` + address + `"]}]}
`
}

// randomHead returns a request that may carry a tag, in each of the ways there
// are, and what rules look at.
func randomHead(random *rand.Rand, direction string, n int, stranger string) string {
	pick := func(from ...string) string { return from[random.IntN(len(from))] }
	word := func() string {
		return pick("gray", "base", "blue", "true", "1", "false", "0", "on", "Off!", "a b", "GRAY", "")
	}
	var b strings.Builder
	// The end makes the path one of its own.
	path := fmt.Sprintf("%s/%s%d", pick("/shop", "/shop/a", "/shop/orders", "/shop//..", "/a/../shop", "/billing", "/billing/..%2fb", "/a"), direction, n)
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n",
		pick("GET", "OPTIONS", "OPTIONS", "DELETE"), path, pick("users", "orders", "billing", stranger))
	maybe := func(name, value string) {
		if random.IntN(3) == 0 {
			fmt.Fprintf(&b, "%s: %s\r\n", name, value)
		}
	}
	maybe(pick("X-Gray", "x-team", "x-mse-tag"), word())
	maybe("baggage", "a=1,x-gray="+word())
	maybe("tracestate", "a=1,graylane="+word())
	maybe("X-User-Id", pick("7", "8", "9"))
	maybe("Cookie", "a=b; team="+pick("blue", "red"))
	maybe("Origin", pick("https://shop.example", "https://other.example", "http://users"))
	maybe("Access-Control-Request-Method", pick("PUT", "DELETE"))
	maybe("X-Session", fmt.Sprint(random.IntN(1000)))
	id := pick("%016x%016x", "%016x%016X") // the second is most likely invalid, so that its tracestate does not count
	fmt.Fprintf(&b, "traceparent: 00-"+id+"-00f067aa0ba902b7-01\r\n", random.Uint64(), random.Uint64())
	return b.String() + "\r\n"
}

// call sends a request and waits for the end of the reply.
func call(t *testing.T, to, raw string) {
	t.Helper()
	conn, err := net.Dial("tcp", to)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, raw); err != nil {
		t.Fatal(err)
	}
	if reply, err := io.ReadAll(conn); err != nil || len(reply) == 0 {
		t.Fatalf("reply %q, %v", reply, err)
	}
}

// explain runs sidecar explain.
func (w way) explain(t *testing.T, path, raw string) *policy.Explanation {
	t.Helper()
	q := w.question
	q.policy, q.peer, q.output = path, "127.0.0.1", "json"
	var out bytes.Buffer
	if err := q.answer(strings.NewReader(raw), &out); err != nil {
		t.Fatal(err)
	}
	e := new(policy.Explanation)
	if err := json.Unmarshal(out.Bytes(), e); err != nil {
		t.Fatal(err)
	}
	return e
}

// exchange is a request that was sent, and what explain says of it.
type exchange struct {
	direction, raw string
	said           *policy.Explanation
}

// compare holds what was said against what was logged.
func (x *exchange) compare(t *testing.T, record map[string]any) {
	t.Helper()
	want := map[string]any{"tag": x.said.Tag, "by a rule": x.said.Rule != ""}
	got := map[string]any{"tag": record["tag"], "by a rule": record["source"] == "rule"}
	if x.direction != "inbound" { // what comes in goes to the app
		want["service"], want["version"], want["reason"] = x.said.Service, x.said.Version, x.said.Reason
		got["service"], got["version"], got["reason"] = record["service"], record["version"], record["reason"]
		want["status"], got["status"] = x.status(), fmt.Sprint(record["status"])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: %s\nexplained (-), done (+):\n%s%v", x.direction, x.raw, diff, record)
	}
}

// status is the one with which the sidecar answers itself, or that of a teapot, as
// which the app and the stranger answer.
func (x *exchange) status() string {
	last := x.said.Steps[len(x.said.Steps)-1].What
	if status, _, found := strings.Cut(last, ": "); found && len(status) == len("404") {
		return status
	}
	return "418"
}
