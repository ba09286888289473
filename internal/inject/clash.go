package inject

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// inventory is what of ours, or in our way, a pod has.
type inventory struct {
	pod      *corev1.Pod
	injected bool              // by an earlier patch
	sidecar  *corev1.Container // nil: none yet
}

func look(pod *corev1.Pod) inventory {
	has := inventory{pod: pod, injected: pod.Annotations[AnnotationStatus] == statusInjected}
	for i, c := range pod.Spec.InitContainers {
		if c.Name == ContainerSidecar {
			has.sidecar = &pod.Spec.InitContainers[i]
		}
	}
	return has
}

func isOurContainer(name string) bool { return name == ContainerSidecar || name == containerRedirect }

// refuseClashes notes what the pod has that the sidecar needs for itself.
func (has inventory) refuseClashes(w wishes, faults *Faults) {
	spec := &has.pod.Spec
	if runsWindows(spec) {
		faults.note("spec", "a Windows pod, want Linux: the sidecar has no image for Windows")
	}
	for i, c := range spec.Containers {
		at := fmt.Sprintf("spec.containers[%d]", i)
		if isOurContainer(c.Name) {
			faults.note(at+".name", "%q is the name of a container that the injector adds, want another", c.Name)
		}
		refusePorts(at, c.Ports, faults)
	}
	for i, c := range spec.InitContainers {
		at := fmt.Sprintf("spec.initContainers[%d]", i)
		if isOurContainer(c.Name) {
			if !has.injected {
				faults.note(at+".name", "%q is the name of a container that the injector adds, want another", c.Name)
			}
			continue
		}
		refusePorts(at, c.Ports, faults)
	}
	for i, v := range spec.Volumes {
		if (v.Name == volumePolicy || v.Name == volumeState) && !has.injected {
			faults.note(fmt.Sprintf("spec.volumes[%d].name", i), "%q is the name of a volume that the injector adds, want another", v.Name)
		}
	}
	has.refuseUID(w, faults)
}

func runsWindows(spec *corev1.PodSpec) bool {
	return spec.OS != nil && spec.OS.Name == corev1.Windows || spec.NodeSelector["kubernetes.io/os"] == "windows"
}

func refusePorts(at string, ports []corev1.ContainerPort, faults *Faults) {
	for i, port := range ports {
		if isTCP(port) && isOurs(port.ContainerPort) {
			faults.note(fmt.Sprintf("%s.ports[%d].containerPort", at, i), "%d is a port of the sidecar, want another", port.ContainerPort)
		}
	}
}

// refuseUID finds containers that came after the sidecar and run as its user: the kernel would let their calls pass it.
func (has inventory) refuseUID(w wishes, faults *Faults) {
	if has.sidecar == nil || w.intercept != Redirect {
		return
	}
	own := has.sidecar.SecurityContext
	if own == nil || own.RunAsUser == nil {
		return
	}
	if slices.Contains(users(has.pod), *own.RunAsUser) {
		faults.note("spec", "user %d is the sidecar's, and another container runs as it too: its calls would bypass the sidecar; want another runAsUser there", *own.RunAsUser)
	}
}

// freeUID is the user for the sidecar: the one wanted, or the next that nobody in the pod has. The kernel rules and the
// container get the same.
func freeUID(pod *corev1.Pod, want int64) int64 {
	for _, uid := range slices.Sorted(slices.Values(users(pod))) {
		if uid == want {
			want++
		}
	}
	return want
}

// users are those that the pod's own containers run as, as far as the pod says.
func users(pod *corev1.Pod) []int64 {
	var all []int64
	if s := pod.Spec.SecurityContext; s != nil && s.RunAsUser != nil {
		all = append(all, *s.RunAsUser)
	}
	note := func(name string, s *corev1.SecurityContext) {
		if s != nil && s.RunAsUser != nil && !isOurContainer(name) {
			all = append(all, *s.RunAsUser)
		}
	}
	for _, c := range pod.Spec.InitContainers {
		note(c.Name, c.SecurityContext)
	}
	for _, c := range pod.Spec.Containers {
		note(c.Name, c.SecurityContext)
	}
	for _, c := range pod.Spec.EphemeralContainers {
		note(c.Name, c.SecurityContext)
	}
	return all
}
