package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"graylane/pkg/policy"
)

// The tops of policies that the test below puts over the same rules.
const (
	ownWords   = "headerValues: {gray: \"on\", base: \"Off!\"}\n"
	ownHeaders = "header: X-Team\nacceptHeaders: [X-Gray, x-mse-tag]\n"
	firstMatch = "decide: first-match\n"
)

// What explain says of a request is what a sidecar does with it, whatever the
// policy says of the header and of who decides.
func TestExplainSaysWhatASidecarDoes(t *testing.T) {
	app := httptest.NewServer(nil)
	t.Cleanup(app.Close)
	for name, top := range map[string]string{
		"plain":       "",
		"first-match": firstMatch,
		"words":       ownWords,
		"headers":     ownHeaders,
		"all of them": firstMatch + ownWords + ownHeaders,
		"off":         "enabled: false\n" + firstMatch + ownWords,
		"nobody":      "trust: []\n" + firstMatch + ownHeaders,
		"an edge":     firstMatch + ownWords + "# edge\n",
	} {
		t.Run(name, func(t *testing.T) {
			address := app.Listener.Addr().String()
			path := file(t, "policy.yaml", explained(top, address))
			r := start(t, path, "--access-log", "--service=users", "--app="+address)
			eventually(t, "the policy is in force", func() bool { return len(r.log.with(t, "policy in force")) == 1 })
			believed := !strings.Contains(top, "trust") && !strings.Contains(top, "edge")
			ways := map[string]string{"inbound": r.inbound.set.Listeners()[0].Addr().String()}
			if believed { // the app is believed in any case, which explain does not know
				ways["outbound"] = r.outbound.set.Listeners()[0].Addr().String()
			}
			random := rand.New(rand.NewPCG(1, 2))
			var sent []exchange
			for n := range 60 {
				for direction, to := range ways {
					raw := randomHead(random, fmt.Sprintf("/%s/%d", direction, n))
					call(t, to, raw)
					sent = append(sent, exchange{direction, raw, explainRaw(t, path, raw)})
				}
			}
			eventually(t, "all is logged", func() bool { return len(r.log.with(t, "request")) == len(sent) })
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
  - {name: half, tag: gray, percent: 50, by: {header: X-Session}}
services:
  - {name: users, ` + edge + `versions: [{tag: base, endpoints: ["` + address + `"]}, {tag: gray, endpoints: ["` + address + `"]}]}
  - {name: orders, versions: [{tag: base, endpoints: ["` + address + `"]}, {tag: gray, endpoints: []}]}
  - {name: billing, fallback: none, versions: [{tag: base, endpoints: ["` + address + `"]}]}
`
}

// randomHead returns a request that may carry a tag, in each of the ways there
// are, and what rules look at.
func randomHead(random *rand.Rand, path string) string {
	pick := func(from ...string) string { return from[random.IntN(len(from))] }
	word := func() string {
		return pick("gray", "base", "blue", "true", "1", "false", "0", "on", "Off!", "a b", "GRAY", "")
	}
	var b strings.Builder
	fmt.Fprintf(&b, "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n", path, pick("users", "orders", "billing"))
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

// explainRaw runs sidecar explain.
func explainRaw(t *testing.T, path, raw string) *policy.Explanation {
	t.Helper()
	q := question{policy: path, peer: "127.0.0.1", service: "users", output: "json"}
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
	if x.direction == "outbound" {
		want["service"], want["version"], want["reason"] = x.said.Service, x.said.Version, x.said.Reason
		got["service"], got["version"], got["reason"] = record["service"], record["version"], record["reason"]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s%s: explained (-), done (+):\n%s%v", x.direction, x.raw, diff, record)
	}
}
