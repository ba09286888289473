package inject

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// apply carries a patch out on a pod as it stands in a file: what the patch does not name keeps its place, its comments
// and its spelling.
func (p Patch) apply(pod *yaml.Node) error {
	for _, op := range p {
		value, err := op.node(pod)
		if err != nil {
			return fmt.Errorf("%s %s: %w", op.Op, op.Path, err)
		}
		if err := put(pod, op.Path, value); err != nil {
			return fmt.Errorf("%s %s: %w", op.Op, op.Path, err)
		}
	}
	return nil
}

// node is what an operation puts in its place.
func (op Operation) node(pod *yaml.Node) (*yaml.Node, error) {
	if op.Op == "move" {
		return take(pod, op.From)
	}
	return toNode(op.Value)
}

// toNode writes a value as Kubernetes does, through its JSON, in the order of its fields.
func toNode(value any) (*yaml.Node, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	plain(doc.Content[0])
	return doc.Content[0], nil
}

// plain takes the braces and quotes of JSON off; text that YAML would read as something else keeps its quotes.
func plain(n *yaml.Node) {
	n.Style = 0
	for _, child := range n.Content {
		plain(child)
	}
}

// put adds a value at a path, in place of what stands there in an object, before it in a list.
func put(root *yaml.Node, path string, value *yaml.Node) error {
	parent, last, err := walk(root, path)
	if err != nil {
		return err
	}
	if parent.Kind == yaml.SequenceNode {
		at := len(parent.Content)
		if last != "-" {
			if at, err = strconv.Atoi(last); err != nil || at > len(parent.Content) {
				return fmt.Errorf("no place %s in a list of %d", last, len(parent.Content))
			}
		}
		parent.Content = slices.Insert(parent.Content, at, value)
		parent.Style &^= yaml.FlowStyle
		return nil
	}
	if at := keyIndex(parent, last); at >= 0 {
		parent.Content[at+1] = value
		return nil
	}
	parent.Content = append(parent.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: last}, value)
	parent.Style &^= yaml.FlowStyle
	return nil
}

// take removes an item of a list and gives it.
func take(root *yaml.Node, path string) (*yaml.Node, error) {
	parent, last, err := walk(root, path)
	if err != nil {
		return nil, err
	}
	at, err := strconv.Atoi(last)
	if err != nil || parent.Kind != yaml.SequenceNode || at >= len(parent.Content) {
		return nil, fmt.Errorf("no item %s there", path)
	}
	item := parent.Content[at]
	parent.Content = slices.Delete(parent.Content, at, at+1)
	return item, nil
}

// walk gives the object or list that holds the last token of a path.
func walk(root *yaml.Node, path string) (parent *yaml.Node, last string, err error) {
	tokens := strings.Split(strings.TrimPrefix(path, "/"), "/")
	parent = resolve(root)
	for _, token := range tokens[:len(tokens)-1] {
		next := child(parent, unescape(token))
		if next == nil {
			return nil, "", fmt.Errorf("%s is not written here; does it come from a merge key (<<)? Write it out", unescape(token))
		}
		parent = next
	}
	if parent.Kind != yaml.MappingNode && parent.Kind != yaml.SequenceNode {
		return nil, "", fmt.Errorf("line %d is no object and no list", parent.Line)
	}
	return parent, unescape(tokens[len(tokens)-1]), nil
}

// child is an entry of an object or an item of a list, nil if there is none.
func child(n *yaml.Node, token string) *yaml.Node {
	if n.Kind == yaml.SequenceNode {
		at, err := strconv.Atoi(token)
		if err != nil || at < 0 || at >= len(n.Content) {
			return nil
		}
		return resolve(n.Content[at])
	}
	if at := keyIndex(n, token); at >= 0 {
		return resolve(n.Content[at+1])
	}
	return nil
}

func keyIndex(n *yaml.Node, key string) int {
	if n.Kind != yaml.MappingNode {
		return -1
	}
	for i := 0; i < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return i
		}
	}
	return -1
}

// resolve follows an alias to what it stands for.
func resolve(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}
