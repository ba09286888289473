package policy

import (
	"bytes"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"
)

// syntaxFault says where text stops being YAML. The parser's own line is that
// of what it was reading, or off by one: what counts is how far it got.
func syntaxFault(data []byte, err error) *Fault {
	what := strings.TrimPrefix(err.Error(), "yaml: ")
	if line, rest, ok := strings.Cut(what, ": "); ok && strings.HasPrefix(line, "line ") {
		what = rest
	}
	if name, ok := strings.CutPrefix(what, "unknown anchor '"); ok {
		name, _, _ = strings.Cut(name, "'")
		return faultAt(data, bytes.Index(data, []byte("*"+name)), "*"+name+" stands for nothing, want an anchor &"+name+" above it")
	}
	return faultAt(data, given(data), "no YAML from here, or from the line above: "+what)
}

// given returns the start of the last line that the parser had seen when it
// gave up.
func given(data []byte) int {
	in := &bytewise{data: data}
	var doc yaml.Node
	for dec := yaml.NewDecoder(in); dec.Decode(&doc) == nil; {
		doc = yaml.Node{}
	}
	for seen := data[:in.read]; ; {
		seen = bytes.TrimRight(seen, " \t\r\n")
		start := bytes.LastIndexByte(seen, '\n') + 1
		line := bytes.TrimLeft(seen[start:], " \t")
		if start == 0 || !bytes.HasPrefix(line, []byte("#")) {
			return len(seen) - len(line)
		}
		seen = seen[:start]
	}
}

// faultAt returns a fault at that byte of data.
func faultAt(data []byte, at int, what string) *Fault {
	before := data[:max(at, 0)]
	start := bytes.LastIndexByte(before, '\n') + 1
	return &Fault{
		Line:   bytes.Count(before, newline) + 1,
		Column: len([]rune(string(before[start:]))) + 1,
		What:   what,
	}
}

// bytewise hands out one byte at a time.
type bytewise struct {
	data []byte
	read int
}

func (b *bytewise) Read(p []byte) (int, error) {
	if b.read == len(b.data) {
		return 0, io.EOF
	}
	p[0] = b.data[b.read]
	b.read++
	return 1, nil
}
