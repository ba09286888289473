package inject

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Misplaced says which labels and annotations of ours stand on what makes pods and not on their template, where they would
// mean something; nil for none.
func Misplaced(owner, template metav1.ObjectMeta) []string {
	var list []string
	for _, m := range []struct {
		what            string
		owner, template map[string]string
	}{{"label", owner.Labels, template.Labels}, {"annotation", owner.Annotations, template.Annotations}} {
		for _, name := range slices.Sorted(maps.Keys(m.owner)) {
			if _, there := m.template[name]; strings.HasPrefix(name, prefix) && !there {
				list = append(list, fmt.Sprintf("the %s %s means nothing here: put it into the metadata of the template of the pods", m.what, name))
			}
		}
	}
	return list[:min(len(list), maxFaults)]
}
