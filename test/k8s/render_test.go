package k8s_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"testing"

	"go.yaml.in/yaml/v3"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// objects are manifests by what names them: kind, namespace and name.
type objects map[string]map[string]any

// parse reads a stream of documents.
func parse(t *testing.T, text []byte) objects {
	t.Helper()
	all := objects{}
	for decoder := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var object map[string]any
		if err := decoder.Decode(&object); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		if object == nil {
			continue
		}
		metadata, _ := object["metadata"].(map[string]any)
		name := fmt.Sprint(object["kind"], " ", metadata["namespace"], "/", metadata["name"])
		if all[name] != nil {
			t.Errorf("%s is there twice", name)
		}
		all[name] = object
	}
}

func (o objects) names() []string { return slices.Sorted(maps.Keys(o)) }

// kustomized is what `kubectl apply -k` would apply.
func kustomized(t *testing.T, folder string) []byte {
	t.Helper()
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), "../../k8s/"+folder)
	if err != nil {
		t.Fatal(err)
	}
	text, err := resources.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// rendered is what `helm install` would apply, with these values.
func rendered(t *testing.T, values map[string]any) ([]byte, error) {
	t.Helper()
	chart, err := loader.Load("../../k8s/chart")
	if err != nil {
		t.Fatal(err)
	}
	release := chartutil.ReleaseOptions{Name: "graylane", Namespace: "graylane-system", IsInstall: true}
	all, err := chartutil.ToRenderValues(chart, values, release, nil)
	if err != nil {
		return nil, err
	}
	files, err := engine.Render(chart, all)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(files)) {
		text.WriteString("---\n" + files[name] + "\n")
	}
	return text.Bytes(), nil
}

func mustRender(t *testing.T, values map[string]any) []byte {
	t.Helper()
	text, err := rendered(t, values)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
