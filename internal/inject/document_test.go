package inject

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const smallPod = "apiVersion: v1\nkind: Pod\nmetadata: {name: users} # ours\nspec: {containers: [{name: app, image: i}]}\n"

// added gives a manifest with the sidecar, and wants it to be added n times.
func added(t *testing.T, text string, n int) string {
	t.Helper()
	out, notes, err := Manifest("file", []byte(text), NewOptions(image))
	if err != nil {
		t.Fatal(err)
	}
	if len(notes) != n || strings.Count(string(out), "graylane.dev/status") != n {
		t.Fatalf("got notes %v, want the sidecar %d times in\n%s", notes, n, out)
	}
	return string(out)
}

func TestLinesOfWindowsEndAsTheyDid(t *testing.T) {
	got := added(t, strings.ReplaceAll(smallPod+"---\n"+smallPod, "\n", "\r\n"), 2)
	want := strings.ReplaceAll(added(t, smallPod+"---\n"+smallPod, 2), "\n", "\r\n")
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("got -, want +:\n%s", diff)
	}
}

func TestADocumentMayBeginBehindItsSeparator(t *testing.T) {
	const flow = "--- {apiVersion: v1, kind: Pod, metadata: {name: users}, spec: {containers: [{name: app}]}}\n"
	added(t, flow, 1)
	added(t, added(t, "--- # the first\n"+smallPod+flow, 2)+flow, 3)
	for _, text := range []string{"--- {a: b}\n--- # nothing\n---\n", "---\n--- |\n  ---\n", "a: ---\n---x: y\n"} {
		if got := added(t, text, 0); got != text {
			t.Errorf("got %q, want %q", got, text)
		}
	}
}

func TestFaultsNameTheLineOfTheFile(t *testing.T) {
	bad := strings.Replace(smallPod, "{name: users}", "{name: users, annotations: {graylane.dev/edge: perhaps}}", 1)
	for text, want := range map[string]string{
		"a: b\n---\n" + bad:              "file:3: ",
		"a: b\n--- # c\n" + bad:          "file:3: ",
		"a: b\n--- !!map\n" + bad:        "file:2: ",
		"a: b\r\n---\r\n\r\n# c\n" + bad: "file:5: ",
	} {
		_, _, err := Manifest("file", []byte(text), NewOptions(image))
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}

func TestWhatCannotBeReadIsRefused(t *testing.T) {
	bomb := "&a [x, x, x, x, x, x, x, x, x, x]"
	for _, name := range []string{"b", "c", "d", "e", "f", "g"} {
		before := string(name[0] - 1)
		bomb += ", &" + name + " [" + strings.Repeat("*"+before+", ", 9) + "*" + before + "]"
	}
	for name, tt := range map[string]struct{ text, want string }{
		"a second document without a separator": {"kind: ConfigMap\n...\n" + smallPod, "another document begins"},
		"a list that holds itself":              {"apiVersion: v1\nkind: List\nitems: [&a {apiVersion: v1, kind: List, items: [*a]}]\n", "contains itself"},
		"aliases without end":                   {smallPod + "x: [" + bomb + "]\n", "excessive aliasing"},
		"a key that is there twice":             {smallPod + "spec: {}\n", `"spec" already defined`},
		"a key that is a number":                {smallPod + "1: x\n", "as keys want quotes"},
		"too many brackets":                     {smallPod + "x: " + strings.Repeat("[", 20_000), "max depth"},
		"tabs":                                  {"apiVersion: v1\nkind: Pod\nspec:\n\tcontainers: []\n", "cannot start any token"},
		"no text":                               {"kind: \x00", "control characters"},
		"no spec":                               {"apiVersion: v1\nkind: Pod\nmetadata: {name: users}\n", "spec is not written here"},
	} {
		_, _, err := Manifest("file", []byte(tt.text), NewOptions(image))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", name, err, tt.want)
		}
	}
}

func TestCommentsStayWhereTheyAre(t *testing.T) {
	got := added(t, "apiVersion: v1\nkind: List\nitems: [] # nothing\n---\n"+smallPod+"---\n{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: app}]}} # all\n"+
		"---\napiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: app}]}} # one\n", 3)
	for _, want := range []string{"items: [] # nothing\n", "metadata: # ours\n  name: users\n", "\nspec:\n", "} # all\n", "} # one\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

func TestWhatIsEmptyStaysEmpty(t *testing.T) {
	got := added(t, smallPod+"later: {a, b: , c: [d: ], e: ''}\nmore:\n  g:\n  h: # none\n", 1)
	for _, want := range []string{"{a: null, b: null, c: [{d: null}], e: ''}", "  g:\n  h: # none\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

func TestJSONStaysJSON(t *testing.T) {
	const text = `{"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "users", "annotations": {"a": "<&> é \u0007 \\ \" yes"}},
		"spec": {"containers": [{"name": "app", "args": ["1", "true", "null", "~"]}], "later": [1.50, 1e3, 12345678901234567890, true, null, {}, []]}}`
	got := added(t, text, 1)
	var before, after struct {
		Metadata struct{ Annotations map[string]string }
		Spec     struct {
			Containers []struct{ Args []string }
			Later      json.RawMessage
		}
	}
	for text, into := range map[string]any{text: &before, got: &after} {
		if err := json.Unmarshal([]byte(text), into); err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
	}
	delete(after.Metadata.Annotations, AnnotationStatus)
	if diff := cmp.Diff(after.Metadata, before.Metadata); diff != "" {
		t.Errorf("annotations (got -, want +):\n%s", diff)
	}
	if diff := cmp.Diff(after.Spec.Containers, before.Spec.Containers); diff != "" {
		t.Errorf("containers (got -, want +):\n%s", diff)
	}
	squeeze := strings.NewReplacer(" ", "", "\n", "")
	if got, want := squeeze.Replace(string(after.Spec.Later)), squeeze.Replace(string(before.Spec.Later)); got != want {
		t.Errorf("a field that we do not know: got %s, want %s", got, want)
	}
	if !strings.HasPrefix(got, "{\n  \"kind\": \"Pod\",\n  \"apiVersion\"") {
		t.Errorf("the keys are not in their order:\n%s", got)
	}
}
