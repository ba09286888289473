package inject

import (
	"bytes"
	"encoding/json"

	"go.yaml.in/yaml/v3"
)

// toJSON gives nodes that were read from JSON, with their keys in order and their numbers as they were.
func toJSON(n *yaml.Node) ([]byte, error) {
	var flat, out bytes.Buffer
	if err := writeJSON(&flat, n); err != nil {
		return nil, err
	}
	if err := json.Indent(&out, flat.Bytes(), "", "  "); err != nil {
		return nil, err
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

func writeJSON(out *bytes.Buffer, n *yaml.Node) error {
	switch n.Kind {
	case yaml.MappingNode:
		return writeItems(out, n, '{', '}', ':')
	case yaml.SequenceNode:
		return writeItems(out, n, '[', ']', ',')
	}
	if n.ShortTag() != "!!str" {
		out.WriteString(n.Value)
		return nil
	}
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(n.Value)
}

// writeItems writes an object, whose keys and values take turns, or a list.
func writeItems(out *bytes.Buffer, n *yaml.Node, begin, end, behindKey byte) error {
	out.WriteByte(begin)
	for i, item := range n.Content {
		switch {
		case i%2 == 1:
			out.WriteByte(behindKey)
		case i > 0:
			out.WriteByte(',')
		}
		if err := writeJSON(out, item); err != nil {
			return err
		}
	}
	out.WriteByte(end)
	return nil
}
