package inject

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"

	"go.yaml.in/yaml/v3"
)

// document is one of those that --- separates: head is the separator, as it is.
type document struct {
	head, body []byte
	line       int // of the file's, before body
}

func split(text []byte) []document {
	docs := []document{{}}
	line := 0
	for part := range bytes.Lines(text) {
		if head, rest, ok := separator(part); ok {
			docs = append(docs, document{head: head, line: line})
			part = rest
		}
		line++
		last := &docs[len(docs)-1]
		if len(part) == 0 {
			last.line = line
		}
		last.body = append(last.body, part...)
	}
	return docs
}

// separator cuts a line that begins a document: what stands behind --- belongs to it, unless that is a comment.
func separator(line []byte) (head, rest []byte, ok bool) {
	rest, ok = bytes.CutPrefix(line, []byte("---"))
	if !ok || len(rest) > 0 && !bytes.ContainsAny(rest[:1], " \t\r\n") {
		return nil, nil, false
	}
	if text := bytes.TrimSpace(rest); len(text) == 0 || text[0] == '#' {
		return line, nil, true
	}
	return line[:3], rest, true
}

// parse reads one document; one of comments alone is nil.
func parse(body []byte) (*yaml.Node, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(unixLines(body)))
	doc := new(yaml.Node)
	if err := decoder.Decode(doc); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, errors.New("another document begins in it, want --- between them")
	}
	if hasAlias(doc) {
		// Finds those that hold themselves, and those that unfold to something huge.
		if err := doc.Decode(new(any)); err != nil {
			return nil, err
		}
	}
	return doc, nil
}

func hasAlias(n *yaml.Node) bool {
	return n.Kind == yaml.AliasNode || slices.ContainsFunc(n.Content, hasAlias)
}

// write gives a document again, as it was written: JSON as JSON, the items of lists where they were, lines with the
// ends that they had.
func write(doc *yaml.Node, was []byte) ([]byte, error) {
	if json.Valid(was) {
		return toJSON(doc.Content[0])
	}
	spellNulls(doc, false)
	moveComments(doc)
	var out bytes.Buffer
	if was[0] == ' ' || was[0] == '\t' {
		out.WriteByte('\n') // it began in the line of the separator
	}
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if compact(doc.Content[0]) {
		encoder.CompactSeqIndent()
	}
	if err := errors.Join(encoder.Encode(doc), encoder.Close()); err != nil {
		return nil, err
	}
	if bytes.Contains(was, []byte("\r\n")) {
		return bytes.ReplaceAll(out.Bytes(), []byte("\n"), []byte("\r\n")), nil
	}
	return out.Bytes(), nil
}

// spellNulls writes out what is left empty between braces and brackets: the library would make empty texts of it.
func spellNulls(n *yaml.Node, flow bool) {
	flow = flow || n.Style&yaml.FlowStyle != 0
	if flow && n.Kind == yaml.ScalarNode && n.Value == "" && n.ShortTag() == "!!null" {
		n.Value = "null"
	}
	for _, item := range n.Content {
		spellNulls(item, flow)
	}
}

// moveComments puts what stood behind braces or brackets, which are gone, where a block has it: behind its key, or above.
func moveComments(n *yaml.Node) {
	if n.Style&yaml.FlowStyle != 0 {
		return // so is all that it holds
	}
	for i, item := range n.Content {
		moveComments(item)
		if item.LineComment == "" || item.Style&yaml.FlowStyle != 0 || item.Kind != yaml.MappingNode && item.Kind != yaml.SequenceNode {
			continue
		}
		if n.Kind == yaml.MappingNode {
			n.Content[i-1].LineComment = item.LineComment
		} else {
			item.HeadComment = item.LineComment
		}
		item.LineComment = ""
	}
}

// unixLines takes the \r off that Windows ends lines with: the library would make empty lines of it.
func unixLines(text []byte) []byte { return bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")) }

// compact tells whether the file writes the items of a list below the first letter of its key, as kubectl does.
func compact(n *yaml.Node) bool {
	if n.Kind == yaml.MappingNode {
		for i := 0; i < len(n.Content); i += 2 {
			key, value := n.Content[i], n.Content[i+1]
			if value.Kind == yaml.SequenceNode && value.Style&yaml.FlowStyle == 0 && len(value.Content) > 0 {
				return value.Column == key.Column
			}
		}
	}
	return slices.ContainsFunc(n.Content, compact)
}
