package differential

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"graylane/test/harness"
)

// pair is two ways to one origin.
type pair struct {
	tap  *tap
	near *harness.Sidecar
	// listed are the headers that docs/headers.md lists: all that may differ.
	listed []string
}

func newPair(t testing.TB, origin string) *pair {
	t.Helper()
	p := &pair{tap: newTap(t, origin), listed: listedHeaders(t)}
	policy := harness.PolicyFile(filepath.Join(t.TempDir(), "policy.yaml"))
	policy.Write(t, "")
	far := harness.StartSidecar(t, "far", string(policy), "--app", p.tap.address(), "--service", "shop")
	p.near = harness.StartSidecar(t, "near", string(policy))
	policy.Write(t, fmt.Sprintf(`apiVersion: graylane.dev/v1
services:
  - name: shop
    versions: [{tag: base, endpoints: [%q]}]
`, far.Inbound))
	far.WaitReady(t)
	p.near.WaitReady(t)
	return p
}

// listedHeaders reads the names out of the table of docs/headers.md and of its section on headers of one hop.
func listedHeaders(t testing.TB) []string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(harness.Repository, "docs", "headers.md"))
	harness.Must(t, err)
	_, hop, found := strings.Cut(string(page), "\n## Headers of one hop\n")
	if !found {
		t.Fatal("docs/headers.md has no section on headers of one hop")
	}
	text := hop
	for line := range strings.Lines(string(page)) {
		if cells := strings.Split(line, "|"); len(cells) == 6 {
			text += cells[1]
		}
	}
	var names []string
	for _, m := range regexp.MustCompile("`([A-Za-z][A-Za-z0-9-]*)`").FindAllStringSubmatch(text, -1) {
		names = append(names, strings.ToLower(m[1]))
	}
	for _, name := range []string{"x-gray", "baggage", "tracestate", "traceparent", "x-request-id", "connection"} {
		if !slices.Contains(names, name) {
			t.Fatalf("docs/headers.md does not list %s any more: %q", name, names)
		}
	}
	return names
}

// question is one request, which ends its connection so that the reply ends there too.
type question struct {
	name, text string
	// echo: the reply tells the request's headers, as JSON.
	echo bool
	// own: the reply tells them, or the time, in a form of its own, so that only its head is compared.
	own bool
	// early: the reply may come before the request has ended.
	early bool
}

// ask writes a request and reads to the end of the connection.
func ask(t testing.TB, address, request string) string {
	t.Helper()
	c, err := net.DialTimeout("tcp", address, harness.Patience)
	harness.Must(t, err)
	defer c.Close()
	harness.Must(t, c.SetDeadline(time.Now().Add(harness.Patience)))
	_, _ = io.WriteString(c, request) // what does not get through shows in the reply
	reply, err := io.ReadAll(c)
	if err != nil && len(reply) == 0 {
		t.Fatalf("no reply from %s: %v", address, err)
	}
	return string(reply)
}

// compare asks both ways and wants no difference but in what is listed.
func (p *pair) compare(t *testing.T, q question) {
	t.Helper()
	request := strings.ReplaceAll(q.text, "⏎", "\r\n")
	p.tap.take()
	direct := ask(t, p.tap.address(), request)
	want := p.tap.take()
	through := ask(t, p.near.Outbound, request)
	got := p.tap.take()
	if !q.early {
		same(t, "the origin heard", p.unlisted(got), p.unlisted(want))
	}
	if q.echo {
		same(t, "the body that tells the request", p.told(t, through), p.told(t, direct))
	}
	if q.echo || q.own {
		direct, through = sizeless(direct), sizeless(through)
	}
	same(t, "the caller got", p.unlisted(sameTime(through)), p.unlisted(sameTime(direct)))
}

func same(t *testing.T, what, got, want string) {
	t.Helper()
	if got == want {
		return
	}
	at := 0
	for at < min(len(got), len(want)) && got[at] == want[at] {
		at++
	}
	from := max(0, at-300)
	t.Errorf("%s, of %d and %d bytes, differs at byte %d:\nthrough %q\n direct %q",
		what, len(got), len(want), at, got[from:min(len(got), at+200)], want[from:min(len(want), at+200)])
}

// unlisted is a message without the headers that may differ.
func (p *pair) unlisted(message string) string { return without(message, p.listed) }

func without(message string, names []string) string {
	head, body, _ := strings.Cut(message, "\r\n\r\n")
	lines := slices.DeleteFunc(strings.Split(head, "\r\n"), func(l string) bool {
		name, _, found := strings.Cut(l, ":")
		return found && slices.Contains(names, strings.ToLower(name))
	})
	return strings.Join(lines, "\r\n") + "\r\n\r\n" + body
}

// sizeless is a head without what depends on the size of its body.
func sizeless(message string) string {
	head, _, _ := strings.Cut(message, "\r\n\r\n")
	return without(head, []string{"content-length", "transfer-encoding"})
}

// sameTime makes all times one: the two replies are not made in the same second.
func sameTime(message string) string {
	return regexp.MustCompile(`(?m)^(Date|Expires): .*$`).ReplaceAllString(message, "$1: now\r")
}

// told is the body of a reply, which is JSON that tells the request, without the headers that may differ.
func (p *pair) told(t *testing.T, reply string) string {
	t.Helper()
	resp, err := http.ReadResponse(bufio.NewReader(strings.NewReader(reply)), nil)
	harness.Must(t, err)
	defer resp.Body.Close()
	var page map[string]any
	harness.Must(t, json.NewDecoder(resp.Body).Decode(&page))
	if headers, ok := page["headers"].(map[string]any); ok {
		for name := range headers {
			if slices.Contains(p.listed, strings.ToLower(name)) {
				delete(headers, name)
			}
		}
	}
	text, err := json.Marshal(page)
	harness.Must(t, err)
	return string(text)
}
