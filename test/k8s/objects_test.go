package k8s_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"

	"graylane/internal/inject"
	"graylane/pkg/policy"
)

// schemas tell fields that there are not, values of another type, and items of a list with the same key.
type schemas struct {
	strict runtime.Decoder
	merge  managedfields.TypeConverter
}

func newSchemas() schemas {
	return schemas{
		serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer(),
		applyconfigurations.NewTypeConverter(scheme.Scheme),
	}
}

func (s schemas) read(text []byte) (runtime.Object, error) {
	object, _, err := s.strict.Decode(text, nil, nil)
	if err != nil {
		return nil, err
	}
	_, err = s.merge.ObjectToTyped(object)
	return object, err
}

// typed reads every object but cert-manager's as Kubernetes does.
func typed(t *testing.T, all objects) []runtime.Object {
	t.Helper()
	s := newSchemas()
	var list []runtime.Object
	for _, name := range all.names() {
		if strings.HasPrefix(all[name]["apiVersion"].(string), "cert-manager.io/") {
			continue
		}
		text, err := yaml.Marshal(all[name])
		if err != nil {
			t.Fatal(err)
		}
		object, err := s.read(text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		list = append(list, object)
	}
	return list
}

func TestEveryObjectIsAsKubernetesKnowsIt(t *testing.T) {
	for _, folder := range []string{"base", "overlays/cert-manager", "overlays/shop"} {
		if n := len(typed(t, parse(t, kustomized(t, folder)))); n < 9 {
			t.Errorf("%s: %d objects, want more", folder, n)
		}
	}
}

func TestEveryPodIsAsKubernetesKnowsItWhenItHasTheSidecar(t *testing.T) {
	s, injected := newSchemas(), 0
	for _, file := range podFiles(t) {
		if filepath.Base(file) == "unknown-fields.yaml" {
			continue // of a Kubernetes to come
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.read(text); err != nil {
			continue // refused for that
		}
		for _, intercept := range []inject.Intercept{inject.Redirect, inject.ProxyEnv} {
			o := inject.NewOptions("graylane/sidecar:test")
			o.Intercept = intercept
			out, notes, err := inject.Manifest(file, text, o)
			if err != nil || notes[0].What != "sidecar added" {
				continue
			}
			injected++
			if _, err := s.read(out); err != nil {
				t.Errorf("%s, %s: %v", file, intercept, err)
			}
		}
	}
	if injected < 60 {
		t.Errorf("%d pods were read with their sidecar, want 60 or more", injected)
	}
}

func TestSchemasFindWhatIsWrong(t *testing.T) {
	const pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: app, image: i, %s}]}\n"
	for fields, want := range map[string]string{
		"ports: [{containerPort: 1}]":                            "",
		"port: 1":                                                "unknown field",
		"ports: [{containerPort: http}]":                         "cannot unmarshal",
		"env: [{name: A, value: a}, {name: A, value: b}]":        "duplicate",
		"volumeMounts: [{name: a, mountPath: /a, mountPath: b}]": "already set",
	} {
		_, err := newSchemas().read(fmt.Appendf(nil, pod, fields))
		if got := fmt.Sprint(err); (err == nil) != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s: got %v, want %q", fields, err, want)
		}
	}
}

func only[T runtime.Object](t *testing.T, list []runtime.Object) []T {
	t.Helper()
	var all []T
	for _, object := range list {
		if o, ok := object.(T); ok {
			all = append(all, o)
		}
	}
	if len(all) == 0 {
		t.Fatalf("no %T", *new(T))
	}
	return all
}

func matches(t *testing.T, selector *metav1.LabelSelector, set labels.Set) bool {
	t.Helper()
	s, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		t.Fatal(err)
	}
	return s.Matches(set)
}

func TestOneWebhookTakesAPodOrNone(t *testing.T) {
	list := typed(t, parse(t, kustomized(t, "base")))
	webhooks := only[*admissionregistrationv1.MutatingWebhookConfiguration](t, list)[0].Webhooks
	tests := []struct {
		namespace      string
		namespaceLabel string
		podLabel       string
		want           int
	}{
		{"shop", "enabled", "", 1},
		{"shop", "enabled", "enabled", 1},
		{"shop", "enabled", "disabled", 0},
		{"shop", "", "", 0},
		{"shop", "", "enabled", 1},
		{"shop", "", "disabled", 0},
		{"shop", "disabled", "enabled", 1},
		{"kube-system", "", "enabled", 0},
		{"kube-system", "enabled", "enabled", 0},
		{"graylane-system", "enabled", "", 0},
		{"graylane-system", "", "enabled", 0},
	}
	set := func(label, value string) labels.Set {
		if value == "" {
			return labels.Set{}
		}
		return labels.Set{label: value}
	}
	for _, tt := range tests {
		namespace := set(inject.LabelInject, tt.namespaceLabel)
		namespace["kubernetes.io/metadata.name"] = tt.namespace
		got := 0
		for _, w := range webhooks {
			if matches(t, w.NamespaceSelector, namespace) && matches(t, w.ObjectSelector, set(inject.LabelInject, tt.podLabel)) {
				got++
			}
		}
		if got != tt.want {
			t.Errorf("%+v: %d webhooks, want %d", tt, got, tt.want)
		}
	}
}

func TestThePodsOfTheShopTakeTheSidecar(t *testing.T) {
	list := typed(t, parse(t, kustomized(t, "overlays/shop")))
	for _, d := range only[*appsv1.Deployment](t, list) {
		if err := inject.Template(&d.Spec.Template, true, inject.NewOptions("graylane/sidecar:dev")); err != nil {
			t.Errorf("%s: %v", d.Name, err)
		}
	}
}

func TestTheServicesOfTheShopSelectOneVersionEach(t *testing.T) {
	list := typed(t, parse(t, kustomized(t, "overlays/shop")))
	deployments := only[*appsv1.Deployment](t, list)
	for _, s := range only[*corev1.Service](t, list) {
		tags := map[string]bool{}
		for _, d := range deployments {
			if labels.SelectorFromSet(s.Spec.Selector).Matches(labels.Set(d.Spec.Template.Labels)) {
				tags[d.Spec.Template.Labels[inject.LabelTag]] = true
			}
		}
		want := "base"
		if strings.HasSuffix(s.Name, "-gray") {
			want = "gray"
		}
		if len(tags) != 1 || !tags[want] {
			t.Errorf("%s selects pods of %v, want %s alone", s.Name, tags, want)
		}
	}
}

func TestPoliciesAreGoodAndNameServicesThatAreThere(t *testing.T) {
	list := typed(t, parse(t, kustomized(t, "overlays/shop")))
	text := only[*corev1.ConfigMap](t, list)[0].Data["policy.yaml"]
	if _, err := policy.Parse("policy.yaml", []byte(text)); err != nil {
		t.Error(err)
	}
	for _, s := range only[*corev1.Service](t, list) {
		if s.Spec.ClusterIP == corev1.ClusterIPNone && !strings.Contains(text, `"`+s.Name+`.shop.svc.cluster.local:15006"`) {
			t.Errorf("the policy does not ask for %s", s.Name)
		}
	}
	example := only[*corev1.ConfigMap](t, typed(t, parse(t, kustomized(t, "base"))))[0].Data["policy.yaml"]
	if _, err := policy.Parse("policy.yaml", []byte(example)); err != nil || !strings.Contains(example, "# ") {
		t.Errorf("the example: %v, want it good and with comments", err)
	}
}

func TestTheInjectorMayDoWhatItDoesAndNoMore(t *testing.T) {
	text := kustomized(t, "base")
	var verbs []string
	for _, object := range parse(t, text) {
		rules, _ := object["rules"].([]any)
		for _, rule := range rules {
			r := rule.(map[string]any)
			if r["resourceNames"] == nil {
				t.Errorf("a rule without names: %v", r)
			}
			for _, verb := range r["verbs"].([]any) {
				verbs = append(verbs, verb.(string))
			}
		}
	}
	slices.Sort(verbs)
	if got, want := strings.Join(verbs, " "), "get get patch update"; got != want {
		t.Errorf("verbs: got %s, want %s", got, want)
	}
	chart, err := os.ReadFile("../../k8s/chart/Chart.yaml")
	if err != nil || !bytes.Contains(chart, []byte(`kubeVersion: ">=1.29.0-0"`)) {
		t.Errorf("the chart takes old clusters, or cannot be read: %v", err)
	}
}
