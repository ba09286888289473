package policy

import (
	"reflect"
	"strings"
)

// field is one key of a mapping, as the tags of a struct state it.
type field struct {
	name  string
	index []int
	typ   reflect.Type
	need  bool     // the key must be written
	short bool     // a scalar in place of the mapping is this key
	enum  []string // the values that it takes; nil: any
	doc   string
	deflt string // what it is where it is not written, for people
}

// fieldsOf lists the keys that a mapping of type t has.
func fieldsOf(t reflect.Type) []field {
	fields := make([]field, 0, t.NumField())
	for i := range t.NumField() {
		sf := t.Field(i)
		f := field{
			name:  sf.Tag.Get("yaml"),
			index: sf.Index,
			typ:   sf.Type,
			need:  sf.Tag.Get("need") != "",
			short: sf.Tag.Get("short") != "",
			doc:   sf.Tag.Get("doc"),
			deflt: sf.Tag.Get("default"),
		}
		if enum := sf.Tag.Get("enum"); enum != "" {
			f.enum = strings.Split(enum, ",")
		}
		fields = append(fields, f)
	}
	return fields
}

func fieldNamed(fields []field, name string) *field {
	for i := range fields {
		if fields[i].name == name {
			return &fields[i]
		}
	}
	return nil
}

func fieldNames(fields []field) []string {
	names := make([]string, len(fields))
	for i := range fields {
		names[i] = fields[i].name
	}
	return names
}

// shortForm returns the key that a scalar in place of the mapping stands for.
func shortForm(fields []field) *field {
	for i := range fields {
		if fields[i].short {
			return &fields[i]
		}
	}
	return nil
}
