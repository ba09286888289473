//go:build cluster

package cluster_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"graylane/test/harness"
)

// object is one manifest.
type object = map[string]any

// rendered is a folder of k8s/ as kustomize gives it.
func (k *kube) rendered(t testing.TB, folder string) []object {
	t.Helper()
	return parse(t, k.run(t, "kustomize", folder))
}

func parse(t testing.TB, text string) []object {
	t.Helper()
	var all []object
	for decoder := yaml.NewDecoder(strings.NewReader(text)); ; {
		var o object
		err := decoder.Decode(&o)
		if errors.Is(err, io.EOF) {
			return all
		}
		harness.Must(t, err)
		all = append(all, o)
	}
}

func write(t testing.TB, objects []object) string {
	t.Helper()
	var b bytes.Buffer
	encoder := yaml.NewEncoder(&b)
	for _, o := range objects {
		harness.Must(t, encoder.Encode(o))
	}
	return b.String()
}

// withImages puts our images, as the cluster knows them, in place of those that the manifests name.
func (s settings) withImages(objects []object, sidecarTag string) []object {
	tags := map[string]string{"sidecar": sidecarTag, "injector": s.tag, "demo": s.tag}
	ours := func(image string) string {
		name, known := strings.CutPrefix(image, "graylane/")
		name, _, _ = strings.Cut(name, ":")
		if !known {
			return image
		}
		return s.image(name, tags[name])
	}
	for _, o := range objects {
		s.edit(o, ours)
	}
	return objects
}

// edit changes the images in a part of a manifest.
func (s settings) edit(part any, ours func(string) string) {
	switch part := part.(type) {
	case object:
		if image, ok := part["image"].(string); ok {
			part["image"] = ours(image)
			if s.pullPolicy != "" {
				part["imagePullPolicy"] = s.pullPolicy
			}
		}
		for _, child := range part {
			s.edit(child, ours)
		}
		if args, ok := part["args"].([]any); ok {
			part["args"] = s.editArgs(args, ours)
		}
	case []any:
		for _, child := range part {
			s.edit(child, ours)
		}
	}
}

func (s settings) editArgs(args []any, ours func(string) string) []any {
	for i, arg := range args {
		if image, ok := strings.CutPrefix(arg.(string), "--image="); ok {
			args[i] = "--image=" + ours(image)
			if s.pullPolicy != "" {
				args = append(args, "--pull-policy="+s.pullPolicy)
			}
		}
	}
	return args
}

// at is a part of a manifest, for manifests that have it.
func at(o object, keys ...string) object {
	for _, key := range keys {
		o = o[key].(object)
	}
	return o
}
