package propagate

import (
	"bytes"
	"strings"
	"testing"
)

// head is a Header for tests: field lines in order. It takes no memory for a line whose room it has
// had before.
type head struct{ lines []line }

type line struct {
	name  string
	value []byte
}

// parse makes a head of lines as they are on the wire, without CR.
func parse(text string) *head {
	h := new(head)
	for l := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSuffix(l, "\n"), ":")
		if name = strings.TrimSpace(name); name != "" {
			h.lines = append(h.lines, line{name, []byte(strings.TrimPrefix(value, " "))})
		}
	}
	return h
}

func (h *head) String() string {
	var b strings.Builder
	for _, l := range h.lines {
		b.WriteString(l.name + ": " + string(l.value) + "\n")
	}
	return b.String()
}

func (h *head) Get(name string) []byte {
	for i := range h.lines {
		if strings.EqualFold(h.lines[i].name, name) {
			return h.lines[i].value
		}
	}
	return nil
}

func (h *head) Values(dst [][]byte, name string) [][]byte {
	for i := range h.lines {
		if strings.EqualFold(h.lines[i].name, name) {
			dst = append(dst, h.lines[i].value)
		}
	}
	return dst
}

func (h *head) Set(name string, value []byte) {
	first := -1
	for i := 0; i < len(h.lines); i++ {
		if !strings.EqualFold(h.lines[i].name, name) {
			continue
		}
		if first < 0 {
			first = i
			continue
		}
		h.remove(i)
		i--
	}
	if first < 0 {
		first = len(h.lines)
		if first < cap(h.lines) {
			h.lines = h.lines[:first+1]
		} else {
			h.lines = append(h.lines, line{})
		}
	}
	h.lines[first].name = name
	h.lines[first].value = append(h.lines[first].value[:0], value...)
}

func (h *head) Del(name string) {
	h.del(func(n string) bool { return strings.EqualFold(n, name) })
}

func (h *head) DelAlike(name string) {
	h.del(func(n string) bool { return alike(n, name) })
}

func (h *head) del(gone func(name string) bool) {
	for i := 0; i < len(h.lines); i++ {
		if gone(h.lines[i].name) {
			h.remove(i)
			i--
		}
	}
}

// remove keeps the memory of the line, behind the last.
func (h *head) remove(i int) {
	gone := h.lines[i]
	copy(h.lines[i:], h.lines[i+1:])
	h.lines[len(h.lines)-1] = gone
	h.lines = h.lines[:len(h.lines)-1]
}

func alike(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) {
		if cgi(a[i]) != cgi(b[i]) {
			return false
		}
	}
	return true
}

func cgi(c byte) byte {
	switch {
	case 'a' <= c && c <= 'z':
		return c - 'a' + 'A'
	case 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return c
	}
	return '_'
}

// usual is what a request has that nobody has marked.
const usual = "Host: users\nUser-Agent: curl/8\nAccept: */*\n"

var xGray = Wire{Header: "X-Gray", Words: map[string]string{"true": "gray", "1": "gray", "false": "base", "0": "base"}}

// intern is what a policy knows: base, gray and blue.
func intern(tag []byte) (string, bool) {
	switch string(tag) {
	case "base":
		return "base", true
	case "gray":
		return "gray", true
	case "blue":
		return "blue", true
	}
	return "", false
}

func carrier(t testing.TB, cfg Config) *Carrier {
	t.Helper()
	c, err := New(cfg)
	if err != nil {
		t.Fatalf("New(%+v): %v", cfg, err)
	}
	return c
}

// counter returns a source of numbers for ids that can be told apart by eye.
func counter() func() uint64 {
	n := uint64(0)
	return func() uint64 {
		n++
		return n * 0x1111111111111111
	}
}

func TestHeadForTests(t *testing.T) {
	h := parse("A: 1\nx_gray: 2\nB: 3\nX-Gray: 4\nX.GRAY: 5\n")
	h.DelAlike("X-Gray")
	h.Set("b", []byte("6"))
	h.Set("C", []byte("7"))
	if got, want := h.String(), "A: 1\nb: 6\nC: 7\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := h.Get("c"); !bytes.Equal(got, []byte("7")) {
		t.Errorf("got %q, want 7", got)
	}
}
