package policy

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

func TestTheSchemaInTheRepositoryIsThatOfTheTypes(t *testing.T) {
	got, err := os.ReadFile("../../schema/policy.v1.json")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(Schema()), string(got)); diff != "" {
		t.Errorf("schema/policy.v1.json is old: go run ./cmd/sidecar check --schema > schema/policy.v1.json\n%s", diff)
	}
}

func TestTheSchemaTakesGoodPolicies(t *testing.T) {
	v := newValidator(t)
	for _, path := range append(glob(t, "testdata/good/*.yaml"), glob(t, "testdata/warn/*.yaml")...) {
		if faults := v.file(read(t, path)); len(faults) > 0 {
			t.Errorf("%s:\n%s", path, strings.Join(faults, "\n"))
		}
	}
}

// What can be seen without knowing how the parts fit together, an editor marks.
func TestTheSchemaRefusesWhatItCan(t *testing.T) {
	v := newValidator(t)
	for _, name := range []string{
		"api-version", "api-version-missing", "unknown-key", "unknown-key-below", "wrong-types", "not-a-mapping",
		"values-without-quotes", "integers", "tags", "versions", "fallback", "percent", "split", "decide", "match-path", "null",
	} {
		if faults := v.file(read(t, "testdata/bad/"+name+".yaml")); len(faults) == 0 {
			t.Errorf("%s.yaml passes", name)
		}
	}
}

func TestEveryKeyIsDocumented(t *testing.T) {
	for name, d := range newValidator(t).definitions {
		object, ok := d.(map[string]any)
		if !ok {
			t.Fatalf("definition %s is %T", name, d)
		}
		properties, _ := object["properties"].(map[string]any)
		for key, p := range properties {
			if text, _ := p.(map[string]any)["description"].(string); text == "" {
				t.Errorf("%s.%s has no description", name, key)
			}
		}
	}
}

// validator checks values by the part of JSON Schema that Schema uses.
type validator struct {
	root        map[string]any
	definitions map[string]any
	faults      []string
}

func newValidator(t *testing.T) *validator {
	t.Helper()
	v := new(validator)
	if err := json.Unmarshal(Schema(), &v.root); err != nil {
		t.Fatal(err)
	}
	v.definitions, _ = v.root["definitions"].(map[string]any)
	return v
}

// file returns the faults of a policy file.
func (v *validator) file(text string) []string {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		return []string{err.Error()}
	}
	v.faults = nil
	v.check("", v.root, jsonOf(doc.Content[0]))
	return v.faults
}

// jsonOf returns n as an editor sees it: times are text.
func jsonOf(n *yaml.Node) any {
	n = resolve(n)
	switch n.Kind {
	case yaml.MappingNode:
		m := map[string]any{}
		for i := 0; i < len(n.Content); i += 2 {
			m[n.Content[i].Value] = jsonOf(n.Content[i+1])
		}
		return m
	case yaml.SequenceNode:
		list := make([]any, len(n.Content))
		for i := range n.Content {
			list[i] = jsonOf(n.Content[i])
		}
		return list
	}
	var value any
	if err := n.Decode(&value); err != nil || n.Tag == "!!timestamp" {
		return n.Value
	}
	return value
}

func (v *validator) fault(where, format string, args ...any) {
	v.faults = append(v.faults, where+": "+fmt.Sprintf(format, args...))
}

func (v *validator) check(where string, schema map[string]any, value any) {
	if ref, ok := schema["$ref"].(string); ok {
		v.check(where, v.definitions[strings.TrimPrefix(ref, "#/definitions/")].(map[string]any), value)
		return
	}
	if all, ok := schema["allOf"].([]any); ok {
		for _, one := range all {
			v.check(where, one.(map[string]any), value)
		}
	}
	if some, ok := schema["anyOf"].([]any); ok {
		v.anyOf(where, some, value)
		return
	}
	if enum, ok := schema["enum"].([]any); ok && !slices.Contains(enum, value) {
		v.fault(where, "%v, want one of %v", value, enum)
	}
	switch schema["type"] {
	case "object":
		v.object(where, schema, value)
	case "array":
		list, ok := value.([]any)
		if !ok {
			v.fault(where, "%v, want a list", value)
		}
		for i := range list {
			v.check(fmt.Sprintf("%s[%d]", where, i), schema["items"].(map[string]any), list[i])
		}
	case "string":
		text, ok := value.(string)
		if pattern, has := schema["pattern"].(string); !ok || has && !regexp.MustCompile(pattern).MatchString(text) {
			v.fault(where, "%v, want a string", value)
		}
	case "boolean":
		if _, ok := value.(bool); !ok {
			v.fault(where, "%v, want a boolean", value)
		}
	case "number", "integer":
		v.number(where, schema, value)
	}
}

func (v *validator) anyOf(where string, schemas []any, value any) {
	before := v.faults
	for _, one := range schemas {
		v.faults = nil
		v.check(where, one.(map[string]any), value)
		if v.faults == nil {
			v.faults = before
			return
		}
	}
	v.faults = before
	v.fault(where, "%v fits nothing", value)
}

func (v *validator) object(where string, schema map[string]any, value any) {
	m, ok := value.(map[string]any)
	if !ok {
		v.fault(where, "%v, want a mapping", value)
		return
	}
	properties, _ := schema["properties"].(map[string]any)
	for key, inner := range m {
		if property, known := properties[key].(map[string]any); known {
			v.check(where+"."+key, property, inner)
		} else if rest, open := schema["additionalProperties"].(map[string]any); open {
			v.check(where+"."+key, rest, inner)
		} else {
			v.fault(where, "unknown key %s", key)
		}
	}
	need, _ := schema["required"].([]any)
	for _, key := range need {
		if _, ok := m[key.(string)]; !ok {
			v.fault(where, "no %s", key)
		}
	}
}

func (v *validator) number(where string, schema map[string]any, value any) {
	var n float64
	switch value := value.(type) {
	case int:
		n = float64(value)
	case float64:
		n = value
		if schema["type"] == "integer" {
			v.fault(where, "%v, want a whole number", value)
		}
	default:
		v.fault(where, "%v, want a number", value)
		return
	}
	if least, ok := schema["minimum"].(float64); ok && !(n >= least) {
		v.fault(where, "%v, want at least %v", n, least)
	}
	if most, ok := schema["maximum"].(float64); ok && n > most {
		v.fault(where, "%v, want at most %v", n, most)
	}
}
