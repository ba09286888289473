package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"graylane/internal/inject"
)

const switchable = `# the shop's
apiVersion: graylane.dev/v1
enabled: true   # the switch
rules: []
`

// namespace is a cluster with one namespace, as kubectl shows it.
type namespace struct {
	t *testing.T

	mu       sync.Mutex
	policy   string
	testers  string // a list that lies beside it
	version  int
	pods     []corev1.Pod
	services []corev1.Service
	obeyed   map[string]string // policy in force by pod
	touched  int
	lag      int // looks at the metrics until the pods have what is in the ConfigMap
	refused  map[string]bool
}

func newNamespace(t *testing.T) *namespace {
	n := &namespace{t: t, policy: switchable, version: 7, obeyed: map[string]string{}, refused: map[string]bool{}}
	for _, name := range []string{"users-base-1", "users-base-2", "users-gray-1"} {
		pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			"app": "users", inject.LabelTag: strings.Split(name, "-")[1],
		}}}
		pod.Spec.InitContainers = []corev1.Container{{Name: inject.ContainerSidecar}}
		pod.Status.Phase = corev1.PodRunning
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		n.pods = append(n.pods, pod)
		n.obeyed[name] = switchable
	}
	return n
}

// run answers the command lines of kubectl that the injector uses.
func (n *namespace) run(_ context.Context, stdin []byte, name string, args ...string) ([]byte, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	line := name + " " + strings.Join(args, " ")
	line, ours := strings.CutPrefix(line, "kubectl --namespace shop ")
	switch {
	case !ours:
	case strings.HasPrefix(line, "get --output json pods --selector "+inject.LabelTag):
		return json.Marshal(corev1.PodList{Items: n.pods})
	case strings.HasPrefix(line, "get --output json services"):
		return json.Marshal(corev1.ServiceList{Items: n.services})
	case line == "get --output json configmaps --field-selector metadata.name=graylane-policy":
		return json.Marshal(corev1.ConfigMapList{Items: []corev1.ConfigMap{*n.configMap(n.policy)}})
	case strings.HasPrefix(line, "get --output json configmaps"):
		return json.Marshal(corev1.ConfigMapList{})
	case strings.HasPrefix(line, "get --raw /api/v1/namespaces/shop/pods/"):
		return n.metrics(strings.Split(line, "/")[6])
	case line == "patch configmap graylane-policy --type json --patch-file /dev/stdin":
		return nil, n.patch(stdin)
	case strings.HasPrefix(line, "annotate pods --selector "+inject.LabelTag+" --overwrite "+inject.AnnotationTouched+"="):
		n.touched++
		return nil, nil
	}
	n.t.Errorf("unexpected command: %s %s", name, args)
	return nil, errors.New("unexpected")
}

func (n *namespace) metrics(address string) ([]byte, error) {
	pod, port, _ := strings.Cut(address, ":")
	if n.refused[pod] || port != "15021" {
		return nil, errors.New("the server could not find the requested resource")
	}
	if n.lag > 0 {
		n.lag--
	} else if n.touched > 0 {
		n.obeyed[pod] = n.policy
	}
	if n.obeyed[pod] == "" {
		return []byte("graylane_policy_valid 0\n"), nil
	}
	return fmt.Appendf(nil, "# HELP\ngraylane_policy_info{digest=%q} 1\ngraylane_policy_valid 1\n", n.digest(n.obeyed[pod])), nil
}

func (n *namespace) configMap(policy string) *corev1.ConfigMap {
	c := &corev1.ConfigMap{Data: map[string]string{"policy.yaml": policy, "testers.txt": n.testers}}
	c.ResourceVersion = fmt.Sprint(n.version)
	return c
}

func (n *namespace) digest(policy string) string {
	d, err := digest(n.configMap(policy))
	if err != nil {
		n.t.Fatal(err)
	}
	return d
}

func (n *namespace) patch(text []byte) error {
	var patch []struct{ Op, Path, Value string }
	if err := json.Unmarshal(text, &patch); err != nil || len(patch) != 2 || patch[1].Path != "/data/policy.yaml" {
		n.t.Fatalf("the patch is %s", text)
	}
	if patch[0].Op != "replace" || patch[0].Value != fmt.Sprint(n.version) {
		return errors.New("the object has been modified")
	}
	n.policy, n.version = patch[1].Value, n.version+1
	return nil
}

func (n *namespace) switcher(on bool) *switcher {
	return &switcher{
		kubectl: &kubectl{binary: "kubectl", namespace: "shop", run: n.run}, configMap: "graylane-policy",
		on: on, timeout: time.Minute, now: time.Now, pause: time.Millisecond,
	}
}

func TestTheSwitchChangesOneWordAndWaitsForEverySidecar(t *testing.T) {
	n := newNamespace(t)
	n.lag = 5
	var out bytes.Buffer
	if err := n.switcher(false).do(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	if want := strings.Replace(switchable, "enabled: true", "enabled: false", 1); n.policy != want {
		t.Errorf("got %q, want %q", n.policy, want)
	}
	for pod, policy := range n.obeyed {
		if policy != n.policy {
			t.Errorf("%s does not obey yet", pod)
		}
	}
	if n.touched != 1 || !strings.HasPrefix(out.String(), "3 sidecars obey after ") {
		t.Errorf("touched %d times, %q; want once, and the seconds", n.touched, out.String())
	}
	if err := n.switcher(true).do(t.Context(), &out); err != nil || n.policy != switchable {
		t.Errorf("on again: error %v, policy %q; want the first", err, n.policy)
	}
	version := n.version
	if err := n.switcher(true).do(t.Context(), &out); err != nil || n.version != version {
		t.Errorf("on while it is on: error %v, version %d; want nothing written", err, n.version)
	}
}

func TestTheSwitchTellsWhatWentWrong(t *testing.T) {
	tests := []struct {
		name  string
		spoil func(*namespace, *switcher)
		want  string
	}{
		{"no ConfigMap", func(_ *namespace, s *switcher) { s.configMap = "other" }, "there is no ConfigMap other"},
		{"no YAML", func(n *namespace, _ *switcher) { n.policy = "a: [" }, "the policy in ConfigMap graylane-policy: yaml"},
		{"a sidecar that cannot be asked", func(n *namespace, s *switcher) {
			n.refused["users-gray-1"], s.timeout = true, 20*time.Millisecond
		}, "not every sidecar obeys after 20ms"},
	}
	for _, tt := range tests {
		n := newNamespace(t)
		s := n.switcher(false)
		tt.spoil(n, s)
		if err := s.do(t.Context(), new(bytes.Buffer)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", tt.name, err, tt.want)
		}
	}
}

func TestEnabledIsSetInTheTextAsItStands(t *testing.T) {
	tests := []struct{ policy, want string }{
		{switchable, strings.Replace(switchable, "enabled: true", "enabled: false", 1)},
		{"# ours\napiVersion: v\nrules: []\n", "# ours\nenabled: false\napiVersion: v\nrules: []\n"},
		{"services:\n  - {name: a, enabled: true}\n", "enabled: false\nservices:\n  - {name: a, enabled: true}\n"},
		{"apiVersion: v\nenabled:    true", "apiVersion: v\nenabled:    false"},
		{"enabled: false\n", "enabled: false\n"},
		{"enabled: TRUE\n", "enabled: false\n"},
	}
	for _, tt := range tests {
		got, err := setEnabled(tt.policy, false)
		if err != nil || got != tt.want {
			t.Errorf("%q: got %q and error %v, want %q", tt.policy, got, err, tt.want)
		}
	}
	for _, policy := range []string{"", "[]", "{enabled: true}", "enabled: \"true\"", "enabled:\n"} {
		if got, err := setEnabled(policy, false); err == nil {
			t.Errorf("%q: got %q, want an error", policy, got)
		}
	}
}

func runStatus(t *testing.T, n *namespace) (string, error) {
	t.Helper()
	var out bytes.Buffer
	err := status(t.Context(), n.switcher(true).kubectl, "graylane-policy", &out)
	return out.String(), err
}

func TestStatusShowsEverySidecar(t *testing.T) {
	n := newNamespace(t)
	// Pods that have no sidecar, or are about to go, are not waited for.
	n.pods = append(n.pods, corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "plain"}})
	leaving := n.pods[0]
	leaving.Name, leaving.DeletionTimestamp = "leaving", &metav1.Time{Time: time.Now()}
	n.pods = append(n.pods, leaving)
	out, err := runStatus(t, n)
	d := n.digest(switchable)
	want := fmt.Sprintf(`POD            TAG    READY   POLICY         NOTE
users-base-1   base   yes     %s   
users-base-2   base   yes     %s   
users-gray-1   gray   yes     %s   
3 sidecars obey the policy of ConfigMap graylane-policy, %s
`, d, d, d, d)
	if err != nil || out != want {
		t.Errorf("error %v, got\n%s\nwant\n%s", err, out, want)
	}
}

func TestTheDigestIsThatOfSidecars(t *testing.T) {
	const rules = `apiVersion: graylane.dev/v1
rules: [{name: testers, tag: gray, matches: [{headers: [{name: X-User-Id, valuesFrom: {files: [testers.txt]}}]}]}]
services: [{name: users, versions: [{tag: base, endpoints: ["192.0.2.1:1"]}, {tag: gray, endpoints: ["192.0.2.2:1"]}]}]
`
	for name, c := range map[string]struct{ policy, testers, of string }{
		"a policy alone":          {switchable, "1\n", switchable},
		"a policy and a list":     {rules, "1\n2\n", rules + "1\n2\n"},
		"a policy that is no one": {"nonsense", "", "nonsense"},
	} {
		n := &namespace{t: t, testers: c.testers}
		if got, want := n.digest(c.policy), fmt.Sprintf("%x", sha256.Sum256([]byte(c.of)))[:12]; got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}

func TestStatusTellsWhatIsWrong(t *testing.T) {
	n := newNamespace(t)
	n.pods = append(n.pods, n.pods[0])
	n.pods[3].Name = "users-base-3"
	n.pods[0].Status.Conditions = nil
	n.obeyed["users-base-1"], n.obeyed["users-base-2"] = "", "another"
	n.refused["users-gray-1"] = true
	n.obeyed["users-base-3"] = switchable
	n.services = []corev1.Service{
		{ObjectMeta: metav1.ObjectMeta{Name: "users"}, Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "users"}}},
		{ObjectMeta: metav1.ObjectMeta{Name: "users-base"}, Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "users", inject.LabelTag: "base"}}},
		{ObjectMeta: metav1.ObjectMeta{Name: "elsewhere"}},
	}
	out, err := runStatus(t, n)
	if err == nil || !strings.Contains(err.Error(), "not every sidecar obeys") {
		t.Errorf("got %v, want an error", err)
	}
	for _, want := range []string{
		"no      -              has no policy yet", "has another policy than the ConfigMap", "cannot be asked: ",
		"warning: service users selects pods of base and gray: who comes past the sidecars may meet either\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if n := strings.Count(out, "warning"); n != 1 {
		t.Errorf("%d warnings, want 1:\n%s", n, out)
	}
}

func TestKubectlIsAskedAsItsUserWants(t *testing.T) {
	var got []string
	run := func(_ context.Context, _ []byte, name string, args ...string) ([]byte, error) {
		got = append([]string{name}, args...)
		return nil, errors.New("enough")
	}
	cmd := statusCmd(run)
	cmd.SetArgs([]string{"-n", "shop", "--context", "far", "--kubectl", "/opt/kubectl"})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	if err := cmd.Execute(); err == nil || !strings.Contains(err.Error(), "enough") {
		t.Errorf("got %v, want what kubectl said", err)
	}
	if want := []string{"/opt/kubectl", "--namespace", "shop", "--context", "far", "get"}; !slices.Equal(got[:6], want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if _, err := runCommand(t.Context(), nil, "sh", "-c", "echo no >&2; exit 3"); err == nil || !strings.Contains(err.Error(), "exit status 3: no") {
		t.Errorf("got %v, want the status and what was said", err)
	}
	if out, err := runCommand(t.Context(), []byte("hello"), "cat"); err != nil || string(out) != "hello" {
		t.Errorf("got %q and %v, want what came in", out, err)
	}
}
