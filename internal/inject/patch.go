package inject

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Patch is a JSON patch (RFC 6902) of a pod; empty: nothing to do.
type Patch []Operation

// Operation is one step of a patch. We use add and move alone, so that fields which we do not know stay.
type Operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	From  string `json:"from,omitempty"`
	Value any    `json:"value,omitempty"`
}

// JSON is the patch as the API server reads it.
func (p Patch) JSON() ([]byte, error) {
	body, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("write a patch as JSON: %w", err)
	}
	return body, nil
}

// escape makes a token of a path of a key (RFC 6901, section 3).
func escape(key string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}

func unescape(token string) string {
	return strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
}

func (p *Patch) add(path string, value any) {
	*p = append(*p, Operation{Op: "add", Path: path, Value: value})
}

func (p *Patch) move(from, path string) {
	*p = append(*p, Operation{Op: "move", Path: path, From: from})
}

// set puts entries into the object at path, which is made where there is none. Keys stand in order.
func (p *Patch) set(path string, exists bool, keys []string, values map[string]string) {
	if len(keys) == 0 {
		return
	}
	if !exists {
		p.add(path, values)
		return
	}
	for _, key := range keys {
		p.add(path+"/"+escape(key), values[key])
	}
}

// extend puts items at the end of the list at path, which is made where there is none.
func extend[T any](p *Patch, path string, exists bool, items []T) {
	if len(items) == 0 {
		return
	}
	if !exists {
		p.add(path, items)
		return
	}
	for _, item := range items {
		p.add(path+"/-", item)
	}
}
