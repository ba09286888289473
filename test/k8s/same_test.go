package k8s_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheChartRendersWhatTheBaseHas(t *testing.T) {
	tests := []struct {
		folder string
		values map[string]any
	}{
		{"base", nil},
		{"overlays/cert-manager", map[string]any{"certManager": true}},
	}
	for _, tt := range tests {
		base, chart := parse(t, kustomized(t, tt.folder)), parse(t, mustRender(t, tt.values))
		// Helm keeps its release in the namespace, so the namespace must be there before.
		delete(base, "Namespace <nil>/graylane-system")
		if diff := cmp.Diff(base.names(), chart.names()); diff != "" {
			t.Errorf("%s: objects (kustomize -, chart +):\n%s", tt.folder, diff)
		}
		for name, object := range base {
			want := object
			if strings.HasPrefix(name, "Deployment") && tt.values != nil {
				sortArgs(object)
				sortArgs(chart[name])
			}
			if diff := cmp.Diff(want, chart[name]); diff != "" {
				t.Errorf("%s: %s (kustomize -, chart +):\n%s", tt.folder, name, diff)
			}
		}
	}
}

func TestValuesReachTheInjector(t *testing.T) {
	text := string(mustRender(t, map[string]any{
		"pullPolicy": "Never", "replicas": 1, "failurePolicy": "Ignore",
		"sidecar": map[string]any{"image": "s:1", "uid": 2000000000, "intercept": "proxy-env", "cni": true, "policy": "shop-policy"},
	}))
	for _, want := range []string{
		"- --image=s:1\n", "- --pull-policy=Never\n", "- --uid=2000000000\n", "- --intercept=proxy-env\n", "- --cni\n",
		"- --policy=shop-policy\n", "imagePullPolicy: Never\n", "replicas: 1\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "failurePolicy: Fail\n") {
		t.Error("a webhook fails closed, want none")
	}
}

func TestValuesThatTheChartDoesNotKnowAreRefused(t *testing.T) {
	for _, values := range []map[string]any{
		{"replica": 3},
		{"replicas": 0},
		{"failurePolicy": "Perhaps"},
		{"sidecar": map[string]any{"intercept": "magic"}},
		{"sidecar": map[string]any{"image": ""}},
		{"injector": map[string]any{"tag": "v1"}},
	} {
		if _, err := rendered(t, values); err == nil || !strings.Contains(err.Error(), "schema") {
			t.Errorf("%v: got %v, want the schema to refuse it", values, err)
		}
	}
}

// sortArgs puts the arguments of the container into order, which an overlay cannot choose.
func sortArgs(deployment map[string]any) {
	var node any = deployment
	for _, key := range []string{"spec", "template", "spec", "containers"} {
		node = node.(map[string]any)[key]
	}
	args := node.([]any)[0].(map[string]any)["args"].([]any)
	slices.SortFunc(args, func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
}
