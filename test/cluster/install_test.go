//go:build cluster

package cluster_test

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"graylane/test/harness"
)

// installer is a way to bring the injector into a cluster.
type installer interface {
	name() string
	// apply installs, or changes what is installed: sidecars are of this tag from then on.
	apply(t *testing.T, sidecarTag string)
	remove(t *testing.T)
}

// install returns when the injector is ready.
func (s *story) install(t *testing.T, by installer) {
	t.Helper()
	begin := time.Now()
	s.use(t, by, s.tag)
	s.report.note("installed by "+by.name()+", ready after", "%s", seconds([]time.Duration{time.Since(begin)}))
}

// use tells the injector of an image of the sidecar.
func (s *story) use(t *testing.T, by installer, tag string) {
	t.Helper()
	by.apply(t, tag)
	s.settle(t, nsSystem)
	s.current = tag
}

// kustomize is `kubectl apply -k k8s/base`, with the images of the settings.
type kustomize struct{ *story }

func (kustomize) name() string { return "kustomize" }

func (by kustomize) apply(t *testing.T, sidecarTag string) {
	t.Helper()
	by.applyChecked(t, by.withImages(by.rendered(t, "k8s/base"), sidecarTag))
}

func (by kustomize) remove(t *testing.T) {
	t.Helper()
	by.run(t, "delete", "-k", "k8s/base", "--timeout="+clusterPatience)
}

// applyChecked applies manifests after the API server has found each of them good. The namespace comes first, since there
// would be no place for the others.
func (s *story) applyChecked(t *testing.T, objects []object) {
	t.Helper()
	for _, o := range objects {
		if o["kind"] == "Namespace" {
			s.feed(t, write(t, []object{o}), "apply", "-f", "-")
		}
	}
	text := write(t, objects)
	s.feed(t, text, "apply", "--dry-run=server", "-f", "-")
	s.feed(t, text, "apply", "-f", "-")
}

// chart is `helm install graylane k8s/chart`.
type chart struct{ *story }

func (chart) name() string { return "chart" }

func (by chart) apply(t *testing.T, sidecarTag string) {
	t.Helper()
	by.helm(t, "upgrade", "--install", "graylane", "k8s/chart", "--namespace", nsSystem, "--create-namespace",
		"--set", "injector.image="+by.image("injector", by.tag), "--set", "sidecar.image="+by.image("sidecar", sidecarTag),
		"--set", "pullPolicy="+by.pullPolicy)
}

func (by chart) remove(t *testing.T) {
	t.Helper()
	by.helm(t, "uninstall", "graylane", "--namespace", nsSystem, "--wait")
	by.run(t, "delete", "namespace", nsSystem, "--timeout="+clusterPatience) // which Helm has made, and leaves
}

func (by chart) helm(t *testing.T, args ...string) {
	t.Helper()
	words := strings.Fields(by.story.helm)
	_, err := command("", words[0], append(words[1:], args...)...)
	harness.Must(t, err)
}

func buildInjector(t *testing.T, path string) {
	t.Helper()
	cmd := exec.Command("go", "build", "-o", path, "./cmd/injector")
	cmd.Dir = harness.Repository
	text, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("build the injector: %v\n%s", err, text)
	}
}
