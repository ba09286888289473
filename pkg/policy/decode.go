package policy

import (
	"reflect"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// decoder fills a Spec from a YAML tree. It is strict: an unknown key, a
// wrong type, a key written twice and a value of nothing are faults.
type decoder struct {
	*report
	aliased int // values reached through aliases so far
}

// decode fills dst with the value at p.
func (d *decoder) decode(p place, dst reflect.Value, depth int) {
	if d.full() {
		return
	}
	if depth > maxDepth {
		d.add(p, "nested too deep, want at most %d levels", maxDepth)
		return
	}
	if dst.Kind() == reflect.Pointer {
		dst.Set(reflect.New(dst.Type().Elem()))
		dst = dst.Elem()
	}
	if s, ok := dst.Addr().Interface().(scalar); ok {
		d.scalar(p, s)
		return
	}
	switch dst.Kind() {
	case reflect.Struct:
		d.mapping(p, dst, depth)
	case reflect.Slice:
		d.list(p, dst, depth)
	case reflect.Map:
		d.words(p, dst)
	case reflect.String:
		if d.plain(p, "!!str", "a string") {
			dst.SetString(p.node.Value)
		}
	case reflect.Bool:
		if d.plain(p, "!!bool", "true or false") {
			dst.SetBool(strings.EqualFold(p.node.Value, "true"))
		}
	case reflect.Int:
		d.integer(p, dst)
	}
}

func (d *decoder) mapping(p place, dst reflect.Value, depth int) {
	fields := fieldsOf(dst.Type())
	if short := shortForm(fields); short != nil && p.node.Kind == yaml.ScalarNode {
		d.decode(p, dst.FieldByIndex(short.index), depth+1)
		return
	}
	if p.node.Kind != yaml.MappingNode {
		d.add(p, "%s, want a mapping", describe(p.node))
		return
	}
	d.eachKey(p, func(key *yaml.Node, value place) {
		f := fieldNamed(fields, key.Value)
		if f == nil {
			at := place{node: key, where: value.where}
			d.add(at, "unknown key%s", DidYouMean(key.Value, fieldNames(fields)))
			return
		}
		before := len(d.faults)
		d.decode(value, dst.FieldByIndex(f.index), depth+1)
		if len(d.faults) == before {
			d.enum(value, f)
		}
	})
	for _, f := range fields {
		if f.need && !p.has(f.name) {
			d.add(p.key(f.name), "missing")
		}
	}
}

// eachKey calls use for every key of the mapping at p that is a string and
// not written before, until there are too many faults.
func (d *decoder) eachKey(p place, use func(key *yaml.Node, value place)) {
	if keys := len(p.node.Content) / 2; keys > maxKeys {
		d.add(p, "%d keys, want at most %d", keys, maxKeys)
		return
	}
	seen := make(map[string]*yaml.Node, len(p.node.Content)/2)
	for i := 0; i+1 < len(p.node.Content) && !d.full(); i += 2 {
		key := p.node.Content[i]
		if key.Kind != yaml.ScalarNode {
			d.add(place{node: key, where: p.where}, "%s as a key, want a string", describe(key))
			continue
		}
		value := p.part(key.Value, p.node.Content[i+1])
		if first, dup := seen[key.Value]; dup {
			value.node = key
			d.add(value, "key written twice, first on line %d", first.Line)
			continue
		}
		seen[key.Value] = key
		if value, ok := d.follow(value); ok {
			use(key, value)
		}
	}
}

func (d *decoder) list(p place, dst reflect.Value, depth int) {
	if p.node.Kind != yaml.SequenceNode {
		d.add(p, "%s, want a list", describe(p.node))
		return
	}
	if items := len(p.node.Content); items > maxMatches && dst.Type().Elem().Kind() == reflect.Struct {
		d.add(p, "%d items, want at most %d", items, maxMatches)
		return
	}
	dst.Set(reflect.MakeSlice(dst.Type(), len(p.node.Content), len(p.node.Content)))
	for i := range p.node.Content {
		if d.full() {
			return
		}
		at := p.item(i)
		at.node = p.node.Content[i]
		if at, ok := d.follow(at); ok {
			d.decode(at, dst.Index(i), depth+1)
		}
	}
}

// words fills a map of strings.
func (d *decoder) words(p place, dst reflect.Value) {
	if p.node.Kind != yaml.MappingNode {
		d.add(p, "%s, want a mapping", describe(p.node))
		return
	}
	dst.Set(reflect.MakeMap(dst.Type()))
	d.eachKey(p, func(key *yaml.Node, value place) {
		if d.plain(value, "!!str", "a string") {
			dst.SetMapIndex(reflect.ValueOf(key.Value), reflect.ValueOf(value.node.Value))
		}
	})
}

// follow resolves an alias and counts what is reached through aliases, which
// ends alias bombs and anchors that hold themselves.
func (d *decoder) follow(p place) (place, bool) {
	if p.node.Kind == yaml.AliasNode {
		d.aliased += size(p.node.Alias, maxAliased-d.aliased)
		p.node = p.node.Alias
	}
	if d.aliased >= maxAliased {
		d.add(p, "aliases stand for too many values, want fewer than %d", maxAliased)
		return p, false
	}
	if p.node.Tag == "!!null" {
		d.add(p, "nothing, want a value: leave the key out for its default")
		return p, false
	}
	return p, true
}

// size counts the values below n, up to most.
func size(n *yaml.Node, most int) int {
	count := 1
	for _, child := range n.Content {
		if count >= most {
			return most
		}
		count += size(resolve(child), most-count)
	}
	return count
}

// plain tells whether the value at p is a scalar of that type.
func (d *decoder) plain(p place, tag, want string) bool {
	if p.node.Kind == yaml.ScalarNode && p.node.Tag == tag {
		return true
	}
	if p.node.Kind == yaml.ScalarNode && tag == "!!str" {
		d.add(p, "%s, want %s: put it in quotes", describe(p.node), want)
		return false
	}
	d.add(p, "%s, want %s", describe(p.node), want)
	return false
}

func (d *decoder) integer(p place, dst reflect.Value) {
	if !d.plain(p, "!!int", "a whole number") {
		return
	}
	n, err := strconv.ParseInt(p.node.Value, 10, 32)
	if err != nil {
		d.add(p, "%s, want a whole number", describe(p.node))
		return
	}
	dst.SetInt(n)
}

func (d *decoder) scalar(p place, s scalar) {
	if p.node.Kind != yaml.ScalarNode || (p.node.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0 && s.pattern() == "") {
		d.add(p, "%s, want %s", describe(p.node), s.wanted())
		return
	}
	if err := s.parse(p.node.Value); err != nil {
		d.add(p, "%s, %v", describe(p.node), err)
	}
}

// enum checks that a value is one of those that the field takes.
func (d *decoder) enum(p place, f *field) {
	if len(f.enum) == 0 || p.node.Kind != yaml.ScalarNode {
		return
	}
	for _, one := range f.enum {
		if p.node.Value == one {
			return
		}
	}
	hint := ""
	if len(f.enum) > 1 {
		hint = DidYouMean(p.node.Value, f.enum)
	}
	d.add(p, "%s, want %s%s", describe(p.node), strings.Join(f.enum, " or "), hint)
}

// describe shows what stands at n.
func describe(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Tag == "!!null":
		return "nothing"
	case n.Tag == "!!str":
		return quote(n.Value)
	}
	if !printable(n.Value) {
		return quote(n.Value)
	}
	return n.Value
}
