package inject

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestManifestsAsPeopleWriteThem(t *testing.T) {
	for _, file := range inputs(t, "manifests") {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			checkGolden(t, strings.TrimSuffix(file, ".yaml")+".want", outcome(t, file))
		})
	}
}

func TestDocumentsInWhichNothingChangesStayToTheByte(t *testing.T) {
	text, err := os.ReadFile("testdata/manifests/shop.yaml")
	if err != nil {
		t.Fatal(err)
	}
	out, _, err := Manifest("shop.yaml", text, NewOptions(image))
	if err != nil {
		t.Fatal(err)
	}
	separator := []byte("\n---\n")
	before, after := bytes.Split(text, separator), bytes.Split(out, separator)
	if len(before) != len(after) {
		t.Fatalf("got %d documents, want %d", len(after), len(before))
	}
	for _, i := range []int{0, 4} {
		if !bytes.Equal(after[i], before[i]) {
			t.Errorf("document %d: got\n%s\nwant\n%s", i, after[i], before[i])
		}
	}
	if !bytes.HasSuffix(out, []byte("--- \napiVersion: example.com/v1\nkind: Deployment\nmetadata: {name: of-somebody-else}\nspec: {template: {}}\n")) {
		t.Error("the last document has changed")
	}
}

func TestWhatStandsInTheWrongPlaceIsNoted(t *testing.T) {
	const text = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: users, labels: {graylane.dev/tag: gray, app: users}, annotations: {graylane.dev/edge: "true", graylane.dev/app-port: "1"}}
spec: {template: {metadata: {annotations: {graylane.dev/app-port: "8080"}}, spec: {containers: [{name: app, image: app}]}}}
`
	_, notes, err := Manifest("users.yaml", []byte(text), NewOptions(image))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, n := range notes {
		got = append(got, n.What)
	}
	want := []string{
		"the label graylane.dev/tag means nothing here: put it into the metadata of the template of the pods",
		"the annotation graylane.dev/edge means nothing here: put it into the metadata of the template of the pods",
		"sidecar added",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestEveryCommentIsKept(t *testing.T) {
	for _, folder := range []string{"pods", "manifests"} {
		for _, file := range inputs(t, folder) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			out, _, err := Manifest(file, text, NewOptions(image))
			if err != nil {
				continue
			}
			for line := range strings.Lines(string(text)) {
				if _, comment, found := strings.Cut(line, "#"); found && !strings.Contains(string(out), "#"+comment) {
					t.Errorf("%s: the comment #%s is lost", file, strings.TrimSpace(comment))
				}
			}
		}
	}
}
