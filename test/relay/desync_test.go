package relay

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"graylane/test/harness"
)

// guarded is one request of the tables of aws/http-desync-guardian.
type guarded struct {
	Name, URI, Method, Version string
	Headers                    []struct{ Name, Value string }
}

// TestDesync plays the tables in the folder GRAYLANE_DESYNC_DIR through both sidecars. internal/http1 holds one relay to
// the verdicts; here two that stand in line must read every request the same way: what the near one passes on the far
// one takes, once, and what follows a request is never part of it, nor it of what follows.
func TestDesync(t *testing.T) {
	dir := os.Getenv("GRAYLANE_DESYNC_DIR")
	if dir == "" {
		t.Skip("not asked for: GRAYLANE_DESYNC_DIR names no folder")
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s holds no tables (%v)", dir, err)
	}
	c := newChain(t, "")
	for _, file := range files {
		data, err := os.ReadFile(file)
		harness.Must(t, err)
		var requests []guarded
		harness.Must(t, yaml.Unmarshal(data, &requests))
		for i, g := range requests {
			t.Run(fmt.Sprintf("%s/%d %s", filepath.Base(file), i, g.Name), func(t *testing.T) { c.guard(t, g) })
		}
	}
}

// text is the request with a body as its head has it.
func (g guarded) text() string {
	head := fmt.Sprintf("%s %s %s⏎Host: shop⏎", g.Method, g.URI, g.Version)
	body := ""
	for _, h := range g.Headers {
		if strings.EqualFold(h.Name, "Host") {
			continue // the chain serves one
		}
		head += h.Name + ": " + h.Value + "⏎"
		if n, err := strconv.Atoi(strings.TrimSpace(h.Value)); err == nil && strings.EqualFold(h.Name, "Content-Length") {
			body = strings.Repeat("b", n)
		}
		if strings.EqualFold(h.Name, "Transfer-Encoding") {
			body = "3⏎abc⏎0⏎⏎"
		}
	}
	return head + "⏎" + body
}

// guard sends a request and a second one right behind it.
func (c *chain) guard(t *testing.T, g guarded) {
	heard := make(chan string, 10)
	c.origin.plays(t, func(p *peer) {
		for m := p.message(); m != ""; m = p.message() {
			heard <- m
			p.say("HTTP/1.1 200 OK⏎Content-Length: 0⏎⏎")
		}
	})
	p := c.dial(t)
	p.say(g.text() + second)
	first := p.reply(g.Method)
	switch statusOf(first) {
	case "400", "505":
		if more, err := p.rest(); more != "" || isTimeout(err) {
			t.Errorf("refused, and then %q, %v, want the end", more, err)
		}
		if len(heard) > 0 {
			t.Errorf("refused, and the origin heard %q", <-heard)
		}
		return
	case "200":
	default:
		t.Fatalf("got %q, want the origin's reply or a refusal", first)
	}
	if m := <-heard; !strings.HasPrefix(m, g.Method+" ") || strings.Contains(m, "/second") {
		t.Errorf("the origin heard %q", m)
	}
	if len(values(first, "Connection")) > 0 {
		if more, err := p.rest(); more != "" || isTimeout(err) || len(heard) > 0 {
			t.Errorf("after a last reply: %q, %v, and %d more requests at the origin", more, err, len(heard))
		}
		return
	}
	if got := p.reply("GET"); statusOf(got) != "200" {
		t.Errorf("the second request got %q", got)
	}
	if m := <-heard; unmarked(m) != second {
		t.Errorf("the origin heard %q as the second request, want %q", unmarked(m), second)
	}
}
