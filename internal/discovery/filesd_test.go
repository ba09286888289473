package discovery

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"graylane/internal/upstream"
)

func TestParse(t *testing.T) {
	const registry = `[
  {"targets": ["10.0.0.1:8080", "10.0.0.2:8080"], "labels": {"zone": "a", "weight": "3"}},
  {"targets": ["10.0.0.3:8080"], "labels": {"gray": "true", "protocol": "h2c"}},
  {"targets": ["[fd00::1]:8080", "users", "fd.example:1"]}
]`
	for _, c := range []struct {
		name   string
		data   string
		labels map[string]string
		want   []upstream.Target
	}{
		{"no endpoints", `[]`, nil, []upstream.Target{}},
		{"all groups", registry, nil, []upstream.Target{
			{Address: "10.0.0.1:8080", Weight: 3, Zone: "a"},
			{Address: "10.0.0.2:8080", Weight: 3, Zone: "a"},
			{Address: "10.0.0.3:8080", Weight: 1, Protocol: "h2c"},
			{Address: "[fd00::1]:8080", Weight: 1},
			{Address: "users", Weight: 1},
			{Address: "fd.example:1", Weight: 1},
		}},
		{"groups with a label", registry, map[string]string{"gray": "true"}, []upstream.Target{
			{Address: "10.0.0.3:8080", Weight: 1, Protocol: "h2c"},
		}},
		{"groups without a label", registry, map[string]string{"gray": "", "zone": ""}, []upstream.Target{
			{Address: "[fd00::1]:8080", Weight: 1},
			{Address: "users", Weight: 1},
			{Address: "fd.example:1", Weight: 1},
		}},
	} {
		got, err := parse([]byte(c.data), c.labels)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if diff := cmp.Diff(got, c.want); diff != "" {
			t.Errorf("%s: endpoints differ (-got +want):\n%s", c.name, diff)
		}
	}
}

func TestParseSaysWhatIsWrongAndWhere(t *testing.T) {
	for _, c := range []struct{ data, want string }{
		{``, `: empty, want a list: [] for no endpoints`},
		{`null`, `: null, want a list: [] for no endpoints`},
		{`{}`, `:1:1: object, want a list of {targets, labels}`},
		{"[\n  {\"targets\": [\"a:1\",]}\n]", `:2:22: invalid character ']' looking for beginning of value`},
		{`[{"targets": "a:1"}]`, `:1:18: string, want targets: a list of addresses`},
		{`[{"targets": ["a:1"], "labels": {"weight": 2}}]`, `:1:44: number, want labels: strings`},
		{`[{"target": ["a:1"]}]`, `:1:21: unknown field "target"`},
		{`[] []`, `:1:4: more than one list`},
		{`[{"targets": ["a:1"], "labels": {"weight": "-1"}}]`, `: [0].labels.weight: "-1", want a number from 0 to 1000000`},
		{`[{"targets": ["a:1"], "labels": {"protocol": "grpc"}}]`, `: [0].labels.protocol: "grpc", want http1 or h2c`},
		{`[{"targets": ["a:1", "http://b:2"]}]`, `: [0].targets[1]: "http://b:2", want host:port, or host alone`},
		{`[{"targets": ["a:0"]}]`, `: [0].targets[0]: "a:0", want host:port, or host alone`},
		{`[{"targets": [""]}]`, `: [0].targets[0]: "", want host:port, or host alone`},
		{`[{"targets": ["a b:1"]}]`, `: [0].targets[0]: "a b:1", want host:port, or host alone`},
		{`[{"targets": ["fd00::1"]}]`, `: [0].targets[0]: "fd00::1", want host:port, or host alone`},
	} {
		targets, err := parse([]byte(c.data), nil)
		if err == nil {
			t.Errorf("%s: got %v, want an error", c.data, targets)
			continue
		}
		if err.Error() != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.data, err, c.want)
		}
	}
}
