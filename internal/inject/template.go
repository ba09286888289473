package inject

import (
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	kubejson "k8s.io/apimachinery/pkg/util/json"
)

// TemplateOf gives the template of pods in an object of a kind that makes pods, nil for any other kind.
func TemplateOf(kind string, object []byte) (*corev1.PodTemplateSpec, error) {
	path, ok := templates[kind]
	if !ok || len(path) == 0 {
		return nil, nil
	}
	for _, key := range path {
		var fields map[string]json.RawMessage
		if err := kubejson.Unmarshal(object, &fields); err != nil {
			return nil, fmt.Errorf("%s, looking for %s: %w", kind, strings.Join(path, "."), err)
		}
		if object = fields[key]; object == nil {
			return nil, fmt.Errorf("%s has no %s", kind, strings.Join(path, "."))
		}
	}
	template := new(corev1.PodTemplateSpec)
	if err := kubejson.Unmarshal(object, template); err != nil {
		return nil, fmt.Errorf("%s of %s: %w", strings.Join(path, "."), kind, err)
	}
	return template, nil
}
