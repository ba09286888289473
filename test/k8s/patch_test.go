package k8s_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
	jsonpatch "gopkg.in/evanphx/json-patch.v4" // the one of the API server
	corev1 "k8s.io/api/core/v1"

	"graylane/internal/inject"
)

// TestThePatchOfTheWebhookGivesWhatTheCommandLinePrints carries patches out as the API server does.
func TestThePatchOfTheWebhookGivesWhatTheCommandLinePrints(t *testing.T) {
	options, patched := inject.NewOptions("graylane/sidecar:test"), 0
	for _, file := range podFiles(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		printed, _, err := inject.Manifest(file, text, options)
		if err != nil {
			continue // refused
		}
		once := patch(t, asJSON(t, text), options)
		if diff := cmp.Diff(decode(t, once), decode(t, asJSON(t, printed))); diff != "" {
			t.Errorf("%s (webhook -, command line +):\n%s", file, diff)
		}
		if twice := patch(t, once, options); string(twice) != string(once) {
			t.Errorf("%s: the second patch changes it again:\n%s", file, twice)
		}
		if !strings.Contains(string(once), inject.ContainerSidecar+`"`) {
			continue // left alone
		}
		patched++
	}
	if patched < 20 {
		t.Errorf("%d pods got the sidecar, want 20 or more", patched)
	}
}

// podFiles are the pods as people write them.
func podFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("../../internal/inject/testdata/pods/*.yaml")
	if err != nil || len(files) < 30 {
		t.Fatalf("%d pods and error %v, want 30 or more", len(files), err)
	}
	return files
}

func patch(t *testing.T, pod []byte, options inject.Options) []byte {
	t.Helper()
	typed := new(corev1.Pod)
	if err := json.Unmarshal(pod, typed); err != nil {
		t.Fatal(err)
	}
	result, err := inject.Pod(typed, options)
	if err != nil {
		t.Fatal(err)
	}
	if len(result.Patch) == 0 {
		return pod
	}
	body, err := result.Patch.JSON()
	if err != nil {
		t.Fatal(err)
	}
	operations, err := jsonpatch.DecodePatch(body)
	if err != nil {
		t.Fatal(err)
	}
	out, err := operations.Apply(pod)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func asJSON(t *testing.T, text []byte) []byte {
	t.Helper()
	var object any
	if err := yaml.Unmarshal(text, &object); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func decode(t *testing.T, text []byte) any {
	t.Helper()
	var object any
	if err := json.Unmarshal(text, &object); err != nil {
		t.Fatal(err)
	}
	return object
}
