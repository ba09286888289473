package inject

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Result is what becomes of a pod.
type Result struct {
	Patch   Patch
	Skipped string // why the pod gets no sidecar; "" if it gets one, or has it
}

// Pod gives the patch that adds the sidecar to a pod, and changes nothing itself. A pod that has one gets what it lacks
// only, so a patch after a patch is empty. The error is Faults: why the pod must be refused.
func Pod(pod *corev1.Pod, o Options) (Result, error) {
	if why := skipped(pod); why != "" {
		return skip(pod, why), nil
	}
	var faults Faults
	if o.lacksSidecars() {
		faults.note("Kubernetes "+o.Server, "has no native sidecars (init containers with restartPolicy: Always), want 1.%d or later", firstMinor)
	}
	refuseLabel(pod.Labels, &faults)
	w := readWishes(pod, o, &faults)
	has := look(pod)
	has.refuseClashes(w, &faults)
	if err := faults.orNil(); err != nil {
		return Result{}, err
	}
	uid := freeUID(pod, o.UID)

	var p Patch
	addMetadata(&p, pod)
	addVolumes(&p, has, o)
	var first []corev1.Container
	if w.intercept == Redirect && !o.CNI {
		first = append(first, redirectContainer(w, o, uid))
	}
	order := addFirst(&p, pod, append(first, sidecarContainer(w, o, uid)))
	if w.intercept == ProxyEnv {
		addProxyEnv(&p, pod, order)
	}
	return Result{Patch: p}, nil
}

// Template tells what Pod would refuse of pods made from a template. byDefault says whether pods that do not say so
// themselves get the sidecar, as they do in a namespace that is labelled.
func Template(template *corev1.PodTemplateSpec, byDefault bool, o Options) error {
	if label, ok := template.Labels[LabelInject]; !ok && !byDefault || label == disabled {
		return nil
	}
	_, err := Pod(&corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}, o)
	return err
}

// mirrored is on the API server's copies of pods that a node runs from files of its own; they cannot be changed.
const mirrored = "kubernetes.io/config.mirror"

const hostNetwork = "host network: its traffic is the node's"

func skipped(pod *corev1.Pod) string {
	if _, ok := pod.Annotations[mirrored]; ok {
		return "a mirror of a static pod"
	}
	if pod.Labels[LabelInject] == disabled {
		return "label " + LabelInject + ": " + disabled
	}
	if pod.Spec.HostNetwork {
		return hostNetwork
	}
	return ""
}

// skip leaves a pod as it is; one with the host's network says so, since nobody asked for that.
func skip(pod *corev1.Pod, why string) Result {
	r := Result{Skipped: why}
	if status := "skipped: " + why; why == hostNetwork && pod.Annotations[AnnotationStatus] != status {
		r.Patch.set("/metadata/annotations", pod.Annotations != nil, []string{AnnotationStatus}, map[string]string{AnnotationStatus: status})
	}
	return r
}

func refuseLabel(labels map[string]string, faults *Faults) {
	if value, ok := labels[LabelInject]; ok && value != enabled {
		faults.note(labelPlace(LabelInject), "%q, want %s or %s", value, enabled, disabled)
	}
}

func addMetadata(p *Patch, pod *corev1.Pod) {
	if _, ok := pod.Labels[LabelTag]; !ok {
		p.set("/metadata/labels", pod.Labels != nil, []string{LabelTag}, map[string]string{LabelTag: "base"})
	}
	if pod.Annotations[AnnotationStatus] != statusInjected {
		p.set("/metadata/annotations", pod.Annotations != nil, []string{AnnotationStatus}, map[string]string{AnnotationStatus: statusInjected})
	}
}

func addVolumes(p *Patch, has inventory, o Options) {
	var missing []corev1.Volume
	for _, v := range volumes(o) {
		if !slices.ContainsFunc(has.pod.Spec.Volumes, func(other corev1.Volume) bool { return other.Name == v.Name }) {
			missing = append(missing, v)
		}
	}
	extend(p, "/spec/volumes", has.pod.Spec.Volumes != nil, missing)
}

const initPath = "/spec/initContainers"

// addFirst puts our containers at the head of the init containers, in this order. One that is there stays as it is, but
// does not stay behind a stranger: another webhook may have come in between. The names are in the order that results.
func addFirst(p *Patch, pod *corev1.Pod, ours []corev1.Container) (names []string) {
	if pod.Spec.InitContainers == nil {
		p.add(initPath, ours)
		return nil
	}
	for _, c := range pod.Spec.InitContainers {
		names = append(names, c.Name)
	}
	for i, c := range ours {
		switch at := slices.Index(names, c.Name); {
		case at < 0:
			p.add(fmt.Sprintf("%s/%d", initPath, i), c)
			names = slices.Insert(names, i, c.Name)
		case at != i:
			p.move(fmt.Sprintf("%s/%d", initPath, at), fmt.Sprintf("%s/%d", initPath, i))
			names = slices.Insert(slices.Delete(names, at, at+1), i, c.Name)
		}
	}
	return names
}
