package inject

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"
)

var update = flag.Bool("update", false, "write what comes out into testdata")

const image = "graylane/sidecar:test"

// outcome is what Manifest makes of a file, as testdata keeps it.
func outcome(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	out, notes, err := Manifest(filepath.Base(file), text, NewOptions(image))
	if err != nil {
		return []byte("refused:\n" + err.Error() + "\n")
	}
	var all bytes.Buffer
	for _, n := range notes {
		all.WriteString("# " + n.Who + ": " + n.What + "\n")
	}
	all.Write(out)
	return all.Bytes()
}

func checkGolden(t *testing.T, golden string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(got), string(want)); diff != "" {
		t.Errorf("%s (got -, want +; go test ./internal/inject -update writes what comes out):\n%s", golden, diff)
	}
}

func inputs(t testing.TB, folder string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", folder, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no testdata: %v", err)
	}
	return files
}

func TestPodsAsPeopleWriteThem(t *testing.T) {
	files := inputs(t, "pods")
	if len(files) < 30 {
		t.Errorf("testdata has %d pods, want 30 or more", len(files))
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			checkGolden(t, strings.TrimSuffix(file, ".yaml")+".want", outcome(t, file))
		})
	}
}

func TestAPatchAfterAPatchIsEmpty(t *testing.T) {
	for _, file := range append(inputs(t, "pods"), inputs(t, "manifests")...) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		once, _, err := Manifest(file, text, NewOptions(image))
		if err != nil {
			continue // refused, as its golden file says
		}
		twice, notes, err := Manifest(file, once, NewOptions(image))
		if err != nil {
			t.Errorf("%s: the second time: %v", file, err)
		}
		if diff := cmp.Diff(string(twice), string(once)); diff != "" {
			t.Errorf("%s: the second time (got -, want +):\n%s", file, diff)
		}
		for _, n := range notes {
			if n.What == "sidecar added" {
				t.Errorf("%s: %s: %s, the second time", file, n.Who, n.What)
			}
		}
	}
}

// read gives a pod of testdata.
func read(t *testing.T, name string) *corev1.Pod {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata/pods", name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	pod, err := decode(doc.Content[0])
	if err != nil {
		t.Fatal(err)
	}
	return pod
}

// inject gives the pod after its patch.
func inject(t *testing.T, pod *corev1.Pod) *corev1.Pod {
	t.Helper()
	r, err := Pod(pod, NewOptions(image))
	if err != nil {
		t.Fatal(err)
	}
	n, err := toNode(pod)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Patch.apply(n); err != nil {
		t.Fatal(err)
	}
	patched, err := decode(n)
	if err != nil {
		t.Fatal(err)
	}
	return patched
}

func names(containers []corev1.Container) string {
	var all []string
	for _, c := range containers {
		all = append(all, c.Name)
	}
	return strings.Join(all, " ")
}

func TestAContainerThatComesLaterIsCompletedAndNothingIsDoubled(t *testing.T) {
	pod := read(t, "proxy-env")
	pod = inject(t, pod)
	pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: "foreign", Image: "example.com/foreign:1"})
	pod.Spec.InitContainers = append([]corev1.Container{{Name: "early", Image: "example.com/early:1"}}, pod.Spec.InitContainers...)

	pod = inject(t, pod)
	if got, want := names(pod.Spec.InitContainers), "graylane early migrate"; got != want {
		t.Errorf("init containers: got %s, want %s", got, want)
	}
	if got, want := names(pod.Spec.Containers), "app worker foreign"; got != want {
		t.Errorf("containers: got %s, want %s", got, want)
	}
	for _, c := range append(pod.Spec.Containers, pod.Spec.InitContainers[1:]...) {
		seen := map[string]int{}
		for _, e := range c.Env {
			seen[e.Name]++
		}
		for _, name := range []string{"HTTP_PROXY", "http_proxy", "NO_PROXY", "no_proxy"} {
			if seen[name] != 1 {
				t.Errorf("%s: %s is there %d times, want once", c.Name, name, seen[name])
			}
		}
	}
	if r, err := Pod(pod, NewOptions(image)); err != nil || len(r.Patch) > 0 {
		t.Errorf("a third time: got %v and error %v, want nothing to do", r.Patch, err)
	}
}

func TestOursMoveToTheFrontAsTheyAre(t *testing.T) {
	pod := read(t, "init-containers")
	pod = inject(t, pod)
	// What the API server adds to our containers must neither be lost nor be taken for a difference.
	pod.Spec.InitContainers[1].VolumeMounts = append(pod.Spec.InitContainers[1].VolumeMounts,
		corev1.VolumeMount{Name: "kube-api-access", MountPath: "/var/run/secrets"})
	pod.Spec.InitContainers = append([]corev1.Container{{Name: "early"}}, pod.Spec.InitContainers...)

	pod = inject(t, pod)
	if got, want := names(pod.Spec.InitContainers), "graylane-redirect graylane early wait migrate"; got != want {
		t.Errorf("init containers: got %s, want %s", got, want)
	}
	if got := len(pod.Spec.InitContainers[1].VolumeMounts); got != 3 {
		t.Errorf("the sidecar has %d mounts, want all 3 that it had", got)
	}
}

func TestALaterContainerWithTheSidecarsUserIsRefused(t *testing.T) {
	pod := read(t, "plain")
	pod = inject(t, pod)
	pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{
		Name: "foreign", SecurityContext: &corev1.SecurityContext{RunAsUser: new(int64(1337))},
	})
	_, err := Pod(pod, NewOptions(image))
	if err == nil || !strings.Contains(err.Error(), "user 1337 is the sidecar's") {
		t.Errorf("got %v, want a refusal that names the user", err)
	}
}

func TestAnOldAPIServerIsRefusedWithTheReason(t *testing.T) {
	tests := []struct {
		server  string
		refused bool
	}{
		{"", false}, {"1.28", true}, {"v1.28.15-gke.100", true}, {"1.28+", true}, {"1.9", true},
		{"1.29", false}, {"v1.34.2", false}, {"2.0", false},
	}
	pod := read(t, "plain")
	for _, tt := range tests {
		o := NewOptions(image)
		o.Server = tt.server
		_, err := Pod(pod, o)
		if got := err != nil && strings.Contains(err.Error(), "native sidecars"); got != tt.refused {
			t.Errorf("Kubernetes %q: got %v, want refused: %v", tt.server, err, tt.refused)
		}
	}
}

func TestWithANetworkPluginThereIsNoInitStep(t *testing.T) {
	pod := read(t, "plain")
	o := NewOptions(image)
	o.CNI = true
	r, err := Pod(pod, o)
	if err != nil {
		t.Fatal(err)
	}
	body, err := r.Patch.JSON()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(body), "NET_ADMIN") || !strings.Contains(string(body), `"--grace=5s"`) {
		t.Errorf("got %s, want the sidecar and nothing with NET_ADMIN", body)
	}
}

func TestTheRulesAndTheContainerHaveTheSameUser(t *testing.T) {
	for _, name := range []string{"plain", "uid-taken-by-the-pod", "uid-taken-by-containers", "ephemeral-containers"} {
		pod := read(t, name)
		taken := users(pod)
		pod = inject(t, pod)
		redirect, sidecar := pod.Spec.InitContainers[0], pod.Spec.InitContainers[1]
		uid := *sidecar.SecurityContext.RunAsUser
		if got, want := redirect.Args[1], fmt.Sprintf("--uid=%d", uid); got != want {
			t.Errorf("%s: the rules have %s, want %s", name, got, want)
		}
		for _, other := range taken {
			if other == uid {
				t.Errorf("%s: user %d is the app's too", name, uid)
			}
		}
	}
}

func TestATemplateIsJudgedIfItsPodsGetTheSidecar(t *testing.T) {
	bad := map[string]string{"graylane.dev/edge": "perhaps"}
	tests := []struct {
		label     string
		byDefault bool
		refused   bool
	}{
		{"", true, true}, {"", false, false}, {"enabled", false, true},
		{"disabled", true, false}, {"perhaps", false, true},
	}
	for _, tt := range tests {
		template := corev1.PodTemplateSpec{}
		template.Annotations = bad
		if tt.label != "" {
			template.Labels = map[string]string{LabelInject: tt.label}
		}
		if err := Template(&template, tt.byDefault, NewOptions(image)); (err != nil) != tt.refused {
			t.Errorf("label %q, by default %v: got %v, want refused: %v", tt.label, tt.byDefault, err, tt.refused)
		}
	}
}

func TestATagThatTheSidecarWouldNotStartWithIsRefused(t *testing.T) {
	tests := []struct {
		tag     string
		refused bool
	}{
		{"gray", false}, {"base", false}, {"pr-142", false}, {"2", false},
		{"true", true}, {"false", true}, {"1", true}, {"0", true}, {"", true}, {"Gray", true}, {"v1.2", true},
	}
	for _, tt := range tests {
		pod := read(t, "plain")
		pod.Labels[LabelTag] = tt.tag
		_, err := Pod(pod, NewOptions(image))
		want := fmt.Sprintf("metadata.labels[graylane.dev/tag]: %q, want 1 to 63 of a-z", tt.tag)
		if got := err != nil && strings.Contains(err.Error(), want); got != tt.refused {
			t.Errorf("tag %q: got %v, want refused: %v", tt.tag, err, tt.refused)
		}
	}
}

func TestOptionsTellEveryFault(t *testing.T) {
	o := Options{Policy: "No Name", UID: 0, Intercept: "magic", PullPolicy: "Perhaps", Server: "new"}
	err := o.Check()
	if err == nil {
		t.Fatal("got no error, want one")
	}
	if got := strings.Count(err.Error(), "\n") + 1; got != 6 {
		t.Errorf("got %d faults, want 6:\n%v", got, err)
	}
	if err := NewOptions(image).Check(); err != nil {
		t.Errorf("the defaults: %v", err)
	}
}
