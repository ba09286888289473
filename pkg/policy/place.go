package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// place is a value in a policy file: where it stands, and how people name it.
type place struct {
	node  *yaml.Node
	where string // services[users].versions[1].tag
}

// key returns the place of the value under name in the mapping at p, or p's
// own position where the key is not written.
func (p place) key(name string) place {
	if value := p.value(name); value != nil {
		return p.part(name, value)
	}
	return p.part(name, p.node)
}

// part returns the place of the value under name in the mapping at p, which is
// known to stand at node.
func (p place) part(name string, node *yaml.Node) place {
	if !printable(name) {
		name = quote(name)
	}
	if p.where == "" {
		return place{node: node, where: name}
	}
	return place{node: node, where: p.where + "." + name}
}

// has tells whether the mapping at p has that key.
func (p place) has(name string) bool { return p.value(name) != nil }

func (p place) value(name string) *yaml.Node {
	if !p.isMapping() {
		return nil
	}
	for i := 0; i+1 < len(p.node.Content); i += 2 {
		if p.node.Content[i].Value == name {
			return resolve(p.node.Content[i+1])
		}
	}
	return nil
}

// isMapping tells whether a mapping stands at p.
func (p place) isMapping() bool { return p.node != nil && p.node.Kind == yaml.MappingNode }

// isEmpty tells whether nothing is written in the mapping at p.
func (p place) isEmpty() bool { return p.node == nil || len(p.node.Content) == 0 }

// item returns the place of element i of the list at p. An element that has a
// name is called by it.
func (p place) item(i int) place {
	child := place{node: p.node, where: p.where + "[" + strconv.Itoa(i) + "]"}
	if p.node == nil || p.node.Kind != yaml.SequenceNode || i >= len(p.node.Content) {
		return child
	}
	child.node = resolve(p.node.Content[i])
	if name := child.value("name"); name != nil && name.Kind == yaml.ScalarNode && printable(name.Value) {
		child.where = p.where + "[" + name.Value + "]"
	}
	return child
}

// resolve returns the node that an alias stands for.
func resolve(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// printable tells whether s can stand in a message as it is.
func printable(s string) bool {
	if s == "" || len(s) > maxName {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool { return !strconv.IsPrint(r) || r == ']' })
}

// report collects the faults of one file.
type report struct {
	file   string
	faults Faults
	noted  map[*yaml.Node][]string // where faults are already, by what stands there
}

// full tells whether there are so many faults that the rest is not looked at.
func (r *report) full() bool { return len(r.faults) >= maxFaults }

// add notes what is wrong at p. The first fault of a value is the one that
// counts: what is said later of it, and of parts that it does not have, follows
// from that.
func (r *report) add(p place, format string, args ...any) {
	if r.full() {
		return
	}
	for _, where := range r.noted[p.node] {
		if isPart(p.where, where) {
			return
		}
	}
	if r.noted == nil {
		r.noted = make(map[*yaml.Node][]string)
	}
	r.noted[p.node] = append(r.noted[p.node], p.where)
	fault := Fault{File: r.file, Where: p.where, What: fmt.Sprintf(format, args...)}
	if p.node != nil {
		fault.Line, fault.Column = p.node.Line, p.node.Column
	}
	r.faults = append(r.faults, fault)
}

// isPart tells whether the value called part is the one called whole, or
// inside it.
func isPart(part, whole string) bool {
	rest, ok := strings.CutPrefix(part, whole)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// sorted returns the faults in the order of the file, nil for none.
func (r *report) sorted() Faults {
	slices.SortStableFunc(r.faults, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	if r.full() {
		return append(r.faults, Fault{File: r.file, What: fmt.Sprintf("more than these %d, which are told first", maxFaults)})
	}
	return r.faults
}

// quote shows a value of the file in a message: in quotes, escaped, shortened.
func quote(s string) string {
	const enough = 60 // a message is one line that people read
	if len(s) > enough {
		return strconv.Quote(s[:enough]) + "..."
	}
	return strconv.Quote(s)
}
