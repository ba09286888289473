package http1

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

// desyncCase is one request of the tables of aws/http-desync-guardian, with their verdict.
type desyncCase struct {
	Name    string
	URI     string `yaml:"uri"`
	Method  string
	Version string
	Headers []struct{ Name, Value string }
	// Tier is Compliant, Acceptable, Ambiguous or Severe.
	Expected struct{ Tier, Reason string }
}

// TestDesync plays the tables in the folder GRAYLANE_DESYNC_DIR through a relay:
// Severe: 400, the end of the connection, and silence at the origin.
// Ambiguous: the same, or one message and the end of both connections.
// Acceptable: the same request at the origin, or a refusal where RFC 9112 asks for one.
// Compliant: the same request at the origin.
func TestDesync(t *testing.T) {
	dir := os.Getenv("GRAYLANE_DESYNC_DIR")
	if dir == "" {
		t.Skip("not asked for: GRAYLANE_DESYNC_DIR names no folder")
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s holds no tables (%v)", dir, err)
	}
	total := 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var cases []desyncCase
		if err := yaml.Unmarshal(data, &cases); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for i, c := range cases {
			total++
			t.Run(fmt.Sprintf("%s/%d %s", filepath.Base(file), i, c.Name), c.play)
		}
	}
	t.Logf("%d requests played", total)
}

// text is the request as bytes, with a body that fits what it says.
func (c desyncCase) text() (head, body string) {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %s\r\n", c.Method, c.URI, c.Version)
	if !c.has("Host") {
		b.WriteString("Host: h\r\n")
	}
	for _, h := range c.Headers {
		space := " "
		if strings.HasPrefix(h.Value, " ") {
			space = ""
		}
		fmt.Fprintf(&b, "%s:%s%s\r\n", h.Name, space, h.Value)
		switch n, err := strconv.Atoi(strings.TrimSpace(h.Value)); {
		case strings.EqualFold(h.Name, "Content-Length") && err == nil:
			body = strings.Repeat("b", n)
		case strings.EqualFold(h.Name, "Transfer-Encoding"):
			body = "3\r\nabc\r\n0\r\n\r\n"
		}
	}
	return b.String() + "\r\n", body
}

func (c desyncCase) has(name string) bool {
	return slices.ContainsFunc(c.Headers, func(h struct{ Name, Value string }) bool { return h.Name == name })
}

func (c desyncCase) play(t *testing.T) {
	t.Parallel()
	head, body := c.text()
	heard, refused := make(chan string, 8), false
	t.Cleanup(func() { // when the origin has ended
		if refused && len(heard) != 0 {
			t.Errorf("refused, and the origin heard %q", <-heard)
		}
	})
	addr := between(t, Config{}, OriginConfig{}, func(p *peer) {
		h := p.head()
		got := h
		if strings.Contains(strings.ToLower(h), "transfer-encoding") || strings.Contains(strings.ToLower(h), "content-length") {
			got += p.bytes(len(body))
		}
		p.say("HTTP/1.1 200 OK⏎Content-Length: 0⏎⏎")
		heard <- got
		more, _ := p.rest()
		heard <- more
	})
	caller := dial(t, addr)
	caller.say(head + body)
	reply := caller.head()
	ended := strings.Contains(reply, "⏎Connection: close⏎")
	refused = strings.HasPrefix(reply, "HTTP/1.1 400 ") || strings.HasPrefix(reply, "HTTP/1.1 505 ")
	if refused {
		c.mayRefuse(t, reply, ended)
		return
	}
	if !strings.HasPrefix(reply, "HTTP/1.1 200 OK⏎") {
		t.Fatalf("got %q, want a refusal or the origin's reply", reply)
	}
	got := <-heard
	if c.Expected.Tier == "Ambiguous" {
		_ = caller.SetReadDeadline(time.Now().Add(patient))
		if more, err := caller.rest(); !ended || more != "" || err != nil {
			t.Errorf("the caller's connection goes on after an ambiguous request: %q, %v", more, err)
		}
		if more := <-heard; more != "" {
			t.Errorf("the origin heard more: %q", more)
		}
	}
	c.mayPass(t, got, head, body)
}

// mayRefuse checks a refusal. Of what the tables call compliant only one cannot be written down: RFC
// 9112 section 3 knows no empty request-target.
func (c desyncCase) mayRefuse(t *testing.T, reply string, ended bool) {
	if !ended {
		t.Errorf("refused without an end of the connection: %q", reply)
	}
	if c.Expected.Tier == "Compliant" && c.URI != "" {
		t.Errorf("a compliant request was refused: %q", reply)
	}
	if c.Expected.Tier == "Severe" && !strings.HasPrefix(reply, "HTTP/1.1 400 ") {
		t.Errorf("got %q, want 400", reply)
	}
}

// mayPass checks that the origin got the request that was sent.
func (c desyncCase) mayPass(t *testing.T, got, head, body string) {
	if c.Expected.Tier == "Severe" {
		t.Errorf("a severe request reached the origin: %q", got)
	}
	if want := plain(visible(head + body)); plain(got) != want {
		t.Errorf("the origin heard\n got %q\nwant %q", plain(got), want)
	}
}

// plain takes out what may differ: connection options, spaces around values of framing, and the
// version, which is 1.1 on both sides.
func plain(s string) string {
	head, body, _ := strings.Cut(s, "⏎⏎")
	lines := strings.Split(head, "⏎")
	lines[0] = strings.Replace(lines[0], "HTTP/1.2", "HTTP/1.1", 1)
	kept := lines[:1]
	for _, l := range lines[1:] {
		name, value, _ := strings.Cut(l, ":")
		if !strings.EqualFold(name, "connection") {
			kept = append(kept, name+": "+strings.Trim(value, " \t"))
		}
	}
	return strings.Join(kept, "⏎") + "⏎⏎" + body
}
