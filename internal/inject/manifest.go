package inject

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubejson "k8s.io/apimachinery/pkg/util/json"
)

// Note tells what became of one pod of a manifest, or what its author may not have meant.
type Note struct {
	Line int    // of the object that makes the pod
	Who  string // "Deployment shop/users"
	What string
}

// Manifest adds the sidecar to every pod that a file of YAML or JSON describes: Pods, what makes them from a template,
// and Lists of such. A document in which nothing changes stays as it is, to the byte; the others keep their comments and
// the fields that we do not know. The error has every fault, each with name (of the file) and line.
func Manifest(name string, text []byte, o Options) ([]byte, []Note, error) {
	var out bytes.Buffer
	var notes []Note
	var faults Faults
	for _, doc := range split(text) {
		m := manifest{options: o, name: name, line: doc.line}
		out.Write(doc.head)
		out.Write(m.document(doc.body))
		notes = append(notes, m.notes...)
		faults = append(faults, m.faults...)
	}
	if err := faults.orNil(); err != nil {
		return nil, nil, err
	}
	return out.Bytes(), notes, nil
}

// manifest is the work on one document.
type manifest struct {
	options Options
	name    string
	line    int
	doc     *yaml.Node
	aliases bool // somewhere in doc
	notes   []Note
	faults  Faults
	changed bool
}

func (m *manifest) fault(n *yaml.Node, format string, args ...any) {
	m.faults.note(fmt.Sprintf("%s:%d", m.name, m.line+n.Line), format, args...)
}

// document gives the body with its pods patched.
func (m *manifest) document(body []byte) []byte {
	doc, err := parse(body)
	if err != nil {
		m.faults.note(m.name, "the document that begins after line %d: %v", m.line, err)
	}
	if doc == nil {
		return body
	}
	m.doc, m.aliases = doc, hasAlias(doc)
	m.object(doc.Content[0])
	if !m.changed || len(m.faults) > 0 {
		return body
	}
	out, err := write(doc, body)
	if err != nil {
		m.fault(doc, "cannot be written again: %v", err)
	}
	return out
}

// templates are the kinds that make pods, and where each has the template.
var templates = map[string][]string{
	"Pod":                   {},
	"PodTemplate":           {"template"},
	"ReplicationController": {"spec", "template"},
	"ReplicaSet":            {"spec", "template"},
	"Deployment":            {"spec", "template"},
	"StatefulSet":           {"spec", "template"},
	"DaemonSet":             {"spec", "template"},
	"Job":                   {"spec", "template"},
	"CronJob":               {"spec", "jobTemplate", "spec", "template"},
}

// object patches the pods of one object; objects of other kinds stay.
func (m *manifest) object(n *yaml.Node) {
	kind := text(n, "kind")
	if strings.HasSuffix(kind, "List") && text(n, "apiVersion") != "" {
		if items := child(n, "items"); items != nil {
			for i, item := range items.Content {
				if item.Kind == yaml.AliasNode {
					items.Content[i] = clone(item.Alias)
				}
				m.object(items.Content[i])
			}
		}
		return
	}
	path, ok := templates[kind]
	if group, _, _ := strings.Cut(text(n, "apiVersion"), "/"); !ok || !slices.Contains([]string{"v1", "apps", "batch"}, group) {
		return
	}
	pod := n
	for _, token := range path {
		if pod = own(pod, token); pod == nil {
			m.fault(n, "%s: no %s, want a template of pods", who(n), strings.Join(path, "."))
			return
		}
	}
	m.pod(n, pod)
}

func (m *manifest) pod(owner, n *yaml.Node) {
	pod, err := decode(n)
	if err != nil {
		m.fault(n, "%s: %v", who(owner), err)
		return
	}
	result, err := Pod(pod, m.options)
	if err != nil {
		for line := range strings.SplitSeq(err.Error(), "\n") {
			m.fault(n, "%s: %s", who(owner), line)
		}
		return
	}
	for _, what := range Misplaced(metaOf(owner), pod.ObjectMeta) {
		m.notes = append(m.notes, Note{Line: m.line + owner.Line, Who: who(owner), What: what})
	}
	note := Note{Line: m.line + owner.Line, Who: who(owner), What: "sidecar added"}
	switch {
	case result.Skipped != "":
		note.What = "skipped: " + result.Skipped
	case len(result.Patch) == 0:
		note.What = "has the sidecar"
	}
	m.notes = append(m.notes, note)
	if len(result.Patch) == 0 {
		return
	}
	m.changed = true
	if m.aliases {
		result.Patch.separate(m.doc, n)
	}
	if err = ensureMetadata(n); err == nil {
		err = result.Patch.apply(n)
	}
	if err != nil {
		m.fault(n, "%s: %v", who(owner), err)
	}
}

// metaOf reads the labels and annotations of an object, as far as they are such.
func metaOf(n *yaml.Node) metav1.ObjectMeta {
	var meta struct{ Labels, Annotations map[string]string }
	if metadata := child(n, "metadata"); metadata != nil {
		_ = metadata.Decode(&meta) // what is wrong with it is for Kubernetes to say
	}
	return metav1.ObjectMeta{Labels: meta.Labels, Annotations: meta.Annotations}
}

// ensureMetadata makes room for labels: a template of a Job may have no metadata at all.
func ensureMetadata(n *yaml.Node) error {
	metadata := child(n, "metadata")
	if metadata != nil && metadata.Kind == yaml.MappingNode {
		return nil
	}
	return put(n, "/metadata", &yaml.Node{Kind: yaml.MappingNode})
}

func decode(n *yaml.Node) (*corev1.Pod, error) {
	var value any
	if err := n.Decode(&value); err != nil {
		return nil, err
	}
	body, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("not a pod as Kubernetes knows it (numbers and booleans as keys want quotes): %w", err)
	}
	pod := new(corev1.Pod)
	if err := kubejson.Unmarshal(body, pod); err != nil {
		return nil, fmt.Errorf("not a pod as Kubernetes knows it (numbers and booleans in labels and annotations want quotes): %w", err)
	}
	return pod, nil
}

func text(n *yaml.Node, key string) string {
	if value := child(n, key); value != nil && value.Kind == yaml.ScalarNode {
		return value.Value
	}
	return ""
}

// who names an object for people: Deployment shop/users.
func who(n *yaml.Node) string {
	name := "without a name"
	if metadata := child(n, "metadata"); metadata != nil {
		if given := text(metadata, "name"); given != "" {
			name = given
		} else if given := text(metadata, "generateName"); given != "" {
			name = given + "*"
		}
		if namespace := text(metadata, "namespace"); namespace != "" {
			name = namespace + "/" + name
		}
	}
	return text(n, "kind") + " " + name
}
