package inbound_test

import (
	"strings"
	"testing"

	"graylane/pkg/policy"
	"graylane/pkg/propagate"
)

// head is a request's head of one line to a name.
type head map[string]string

func (h head) Get(name string) []byte {
	if value, ok := h[name]; ok {
		return []byte(value)
	}
	return nil
}

func (h head) Values(dst [][]byte, name string) [][]byte {
	if value := h.Get(name); value != nil {
		dst = append(dst, value)
	}
	return dst
}

func (h head) Set(name string, value []byte) { h[name] = string(value) }
func (h head) Del(name string)               { delete(h, name) }
func (h head) DelAlike(name string)          { delete(h, name) }

// Package policy says what is a tag and what the tag header says for it, package
// propagate reads and writes both, and neither knows the other.
func TestWhatIsCarriedIsATagOfThePolicy(t *testing.T) {
	p, err := policy.Parse("policy.yaml", []byte(`
apiVersion: graylane.dev/v1
headerValues: {gray: "on", base: "Off!"}
rules: [{name: r, tag: blue}]
`))
	if err != nil {
		t.Fatal(err)
	}
	carrier, err := propagate.New(propagate.Config{})
	if err != nil {
		t.Fatal(err)
	}
	wire := propagate.Wire{Header: p.Header, Values: p.HeaderValues, Words: p.HeaderWords}
	for _, text := range candidates() {
		_, word := p.HeaderWords[text]
		isTag := policy.ValidTag(text) && !word
		if got, _, ok := carrier.Read(head{"tracestate": "graylane=" + text}, &wire, p.Intern); ok != isTag {
			t.Errorf("a member says %q: read as %q, %v, want a tag: %v", text, got, ok, isTag)
		}
		if got, _, ok := carrier.Read(head{p.Header: text}, &wire, p.Intern); ok != (isTag || word) {
			t.Errorf("the header says %q: read as %q, %v, want a tag: %v", text, got, ok, isTag || word)
		}
		want := policy.Base
		if isTag {
			want = text
		}
		h := head{}
		carrier.Write(h, &wire, text)
		if got, _, _ := carrier.Read(h, &wire, p.Intern); got != want {
			t.Errorf("tag %q is written as %v and read as %q, want %q", text, h, got, want)
		}
	}
}

// candidates returns texts that may be tags: all short ones of the bytes that
// matter, and the longest.
func candidates() []string {
	letters := []string{"a", "z", "0", "1", "9", "-", "A", "Z", "_", ".", ";", "=", "!", "`", "{", "/", ":", "@", "[", "\x7f", "\x80"}
	texts := append([]string{
		"", "true", "false", "True", "on", "off", "Off!", "gray", "base", "blue", "red",
		strings.Repeat("a", 62), strings.Repeat("a", 63), strings.Repeat("a", 64), strings.Repeat("-", 63),
	}, letters...)
	for _, a := range letters {
		for _, b := range letters {
			texts = append(texts, a+b)
			for _, c := range letters {
				texts = append(texts, a+b+c)
			}
		}
	}
	return texts
}
