//go:build images

package images_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"

	"graylane/test/harness"
)

// kubelet runs one pod as Kubernetes does, with the rights that are written in the pod.
type kubelet struct {
	engine
	pod    *corev1.Pod
	policy string // folder in the place of the ConfigMap
}

// inject gives the pod as the injector's image prints it.
func (e engine) inject(manifest string, flags ...string) *corev1.Pod {
	e.t.Helper()
	cmd := exec.Command("docker", append([]string{"run", "--rm", "--interactive", "--network", "none", "--read-only", image("injector"), "inject", "-f", "-"}, flags...)...)
	cmd.Stdin = strings.NewReader(manifest)
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	harness.Must(e.t, err)
	var fields any
	harness.Must(e.t, yaml.Unmarshal(text, &fields))
	body, err := json.Marshal(fields)
	harness.Must(e.t, err)
	pod := new(corev1.Pod)
	harness.Must(e.t, json.Unmarshal(body, pod))
	return pod
}

// start makes the pod's network, runs the init containers in their order, of which a native sidecar goes on once its
// startup probe has passed, and then the containers.
func (k kubelet) start() {
	k.t.Helper()
	// What keeps the network while containers come and go; it needs no more than to stay.
	k.engine.start(k.pod.Name, at(addressFront, k.pod.Name), image("demo"), "app", "--listen=127.0.0.1:9")
	for _, c := range k.pod.Spec.InitContainers {
		if c.RestartPolicy == nil {
			k.must(append([]string{"run", "--rm"}, k.command(c)...)...)
			continue
		}
		k.startContainer(c)
		k.waitFor(c.StartupProbe)
	}
	for _, c := range k.pod.Spec.Containers {
		k.startContainer(c)
	}
	k.waitFor(k.sidecar().ReadinessProbe)
}

// sidecar is the one native sidecar.
func (k kubelet) sidecar() corev1.Container {
	k.t.Helper()
	for _, c := range k.pod.Spec.InitContainers {
		if c.RestartPolicy != nil {
			return c
		}
	}
	k.t.Fatal("the pod has no sidecar")
	return corev1.Container{}
}

func (k kubelet) startContainer(c corev1.Container) {
	k.t.Helper()
	command := k.command(c)
	flags := len(command) - len(c.Args) - 1
	k.engine.start(k.name(c.Name), command[:flags], command[flags], c.Args...)
}

func (k kubelet) name(container string) string { return k.pod.Name + "-" + container }

// address is what a probe asks.
func address(p *corev1.Probe) string {
	return fmt.Sprintf("http://%s:%d%s", addressFront, p.HTTPGet.Port.IntValue(), p.HTTPGet.Path)
}

func (k kubelet) waitFor(p *corev1.Probe) {
	k.t.Helper()
	url := address(p)
	harness.WaitFor(k.t, url+" says 200", func() bool {
		status, _ := harness.Page(url)
		return status == http.StatusOK
	})
}

// command is what follows `docker run` for a container of the pod: flags, image, arguments.
func (k kubelet) command(c corev1.Container) []string {
	k.t.Helper()
	flags := append([]string{"--network", "container:" + k.pod.Name}, k.rights(c)...)
	for _, e := range c.Env {
		flags = append(flags, "--env", e.Name+"="+k.value(e))
	}
	for _, m := range c.VolumeMounts {
		flags = append(flags, k.mount(m)...)
	}
	if memory := c.Resources.Limits.Memory(); !memory.IsZero() {
		flags = append(flags, "--memory", memory.AsDec().String())
	}
	return append(append(flags, c.Image), c.Args...)
}

// rights are the flags for a container's security context and the pod's.
func (k kubelet) rights(c corev1.Container) []string {
	k.t.Helper()
	s := corev1.SecurityContext{Capabilities: new(corev1.Capabilities)}
	if c.SecurityContext != nil {
		s = *c.SecurityContext
	}
	whole := k.pod.Spec.SecurityContext
	user, group := or(s.RunAsUser, whole.RunAsUser), or(s.RunAsGroup, whole.RunAsGroup)
	if user == 0 && or(s.RunAsNonRoot, whole.RunAsNonRoot) {
		k.t.Fatalf("%s: runs as root and must not", c.Name)
	}
	flags := []string{"--user", fmt.Sprintf("%d:%d", user, group)}
	for _, name := range s.Capabilities.Drop {
		flags = append(flags, "--cap-drop", string(name))
	}
	for _, name := range s.Capabilities.Add {
		flags = append(flags, "--cap-add", string(name))
	}
	if or(s.ReadOnlyRootFilesystem, new(false)) {
		flags = append(flags, "--read-only")
	}
	if !or(s.AllowPrivilegeEscalation, new(true)) {
		flags = append(flags, "--security-opt", "no-new-privileges")
	}
	k.refuseOthers(c.Name, s)
	return flags
}

// refuseOthers fails the test for what rights has no flag for, and Docker does not give who asks for nothing: as it is
// with the profile of the runtime.
func (k kubelet) refuseOthers(name string, s corev1.SecurityContext) {
	k.t.Helper()
	s.RunAsUser, s.RunAsGroup, s.RunAsNonRoot = nil, nil, nil
	s.Capabilities, s.ReadOnlyRootFilesystem, s.AllowPrivilegeEscalation = nil, nil, nil
	if s.SeccompProfile != nil && s.SeccompProfile.Type == corev1.SeccompProfileTypeRuntimeDefault {
		s.SeccompProfile = nil
	}
	if !or(s.Privileged, new(false)) {
		s.Privileged = nil
	}
	if diff := cmp.Diff(s, corev1.SecurityContext{}); diff != "" {
		k.t.Fatalf("%s: rights that are not tried here:\n%s", name, diff)
	}
}

// or is what a container says, or else what its pod does.
func or[T any](own, whole *T) T {
	if own != nil {
		return *own
	}
	return *whole
}

var labelPath = regexp.MustCompile(`^metadata\.labels\['(.*)'\]$`)

// value is that of a variable, also of one that takes a field of the pod.
func (k kubelet) value(e corev1.EnvVar) string {
	k.t.Helper()
	if e.ValueFrom == nil {
		return e.Value
	}
	path := e.ValueFrom.FieldRef.FieldPath
	if path == "metadata.namespace" {
		return k.pod.Namespace
	}
	label := labelPath.FindStringSubmatch(path)
	if label == nil {
		k.t.Fatalf("%s: no field %s here", e.Name, path)
	}
	return k.pod.Labels[label[1]]
}

func (k kubelet) mount(m corev1.VolumeMount) []string {
	k.t.Helper()
	for _, v := range k.pod.Spec.Volumes {
		switch {
		case v.Name != m.Name:
		case v.EmptyDir != nil:
			return []string{"--tmpfs", m.MountPath + ":mode=0777"}
		case v.ConfigMap != nil:
			return []string{"--volume", k.policy + ":" + m.MountPath + ":ro"}
		}
	}
	k.t.Fatalf("no volume %s that is tried here", m.Name)
	return nil
}
