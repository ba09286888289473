package policy

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
)

// Schema returns the JSON Schema (draft 7, which editors know) of a policy
// file, made from Spec. It is looser than the compiler, which knows how the
// parts fit together.
func Schema() []byte {
	s := schemaMaker{definitions: map[string]any{}}
	root := s.object(reflect.TypeFor[Spec]())
	root["$schema"] = "http://json-schema.org/draft-07/schema#"
	root["$id"] = "https://" + APIVersion + "/policy.v1.json"
	root["title"] = "Graylane policy"
	root["definitions"] = s.definitions
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	_ = enc.Encode(root) // maps of strings, numbers and lists: there is no error
	return out.Bytes()
}

// schemaMaker makes a schema from types; mappings are definitions, so that a
// match can hold a match.
type schemaMaker struct {
	definitions map[string]any
}

// object returns the schema of a mapping.
func (s *schemaMaker) object(t reflect.Type) map[string]any {
	properties := map[string]any{}
	var need []string
	for _, f := range fieldsOf(t) {
		properties[f.name] = s.property(&f)
		if f.need {
			need = append(need, f.name)
		}
	}
	schema := map[string]any{"type": "object", "additionalProperties": false, "properties": properties}
	if need != nil {
		schema["required"] = need
	}
	return schema
}

// property returns the schema of one key of a mapping.
func (s *schemaMaker) property(f *field) map[string]any {
	schema := s.value(f.typ)
	if _, ref := schema["$ref"]; ref {
		schema = map[string]any{"allOf": []any{schema}} // draft 7 passes over what stands beside $ref
	}
	schema["description"] = f.doc
	if f.deflt != "" {
		schema["description"] = f.doc + " Default: " + f.deflt + "."
	}
	if f.enum != nil {
		schema["enum"] = enumOf(f)
	}
	if f.name == "tag" {
		schema["pattern"] = "^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$"
	}
	return schema
}

func enumOf(f *field) []any {
	values := make([]any, len(f.enum))
	for i, text := range f.enum {
		values[i] = text
		if f.typ.Kind() == reflect.Bool {
			values[i] = text == "true"
		}
	}
	return values
}

func (s *schemaMaker) value(t reflect.Type) map[string]any {
	if t.Kind() == reflect.Pointer {
		return s.value(t.Elem())
	}
	if text, ok := reflect.New(t).Interface().(scalar); ok {
		return scalarSchema(text)
	}
	switch t.Kind() {
	case reflect.Struct:
		return s.reference(t)
	case reflect.Slice:
		return map[string]any{"type": "array", "items": s.value(t.Elem())}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": map[string]any{"type": "string"}}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Int:
		return map[string]any{"type": "integer", "minimum": 0}
	}
	return map[string]any{"type": "string"}
}

func scalarSchema(text scalar) map[string]any {
	switch text.(type) {
	case *Percent:
		return map[string]any{"type": "number", "minimum": 0, "maximum": 100}
	case *Fraction:
		return map[string]any{"type": "number", "minimum": 0, "maximum": 1}
	}
	return map[string]any{"type": "string", "pattern": text.pattern()}
}

// reference returns the schema of a mapping by name, which it defines where
// that is not done.
func (s *schemaMaker) reference(t reflect.Type) map[string]any {
	name := strings.TrimSuffix(t.Name(), "Spec")
	ref := map[string]any{"$ref": "#/definitions/" + name}
	if _, known := s.definitions[name]; known {
		return ref
	}
	s.definitions[name] = nil // a match is inside a match
	object := s.object(t)
	s.definitions[name] = object
	if short := shortForm(fieldsOf(t)); short != nil {
		s.definitions[name] = map[string]any{"anyOf": []any{s.value(short.typ), object}}
	}
	return ref
}
