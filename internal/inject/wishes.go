package inject

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"graylane/pkg/policy"
)

// wishes is what a pod's labels and annotations ask for.
type wishes struct {
	appPort      int32  // 0: the sidecar's default
	service      string // "" for none
	edge         bool
	excludePorts []string
	excludeCIDRs []string
	opaquePorts  []string
	logLevel     string // "" for the sidecar's default
	resources    corev1.ResourceRequirements
	intercept    Intercept
}

// reader reads one annotation each, and collects what is wrong.
type reader struct {
	pod    *corev1.Pod
	faults *Faults
}

// readWishes notes everything that it does not know or cannot read.
func readWishes(pod *corev1.Pod, o Options, faults *Faults) wishes {
	r := reader{pod, faults}
	r.refuseUnknown()
	r.refuseTag()
	return wishes{
		appPort:      r.appPort(),
		service:      r.service(),
		edge:         r.bool(annotationEdge),
		excludePorts: r.ports(annotationExcludePorts),
		excludeCIDRs: r.cidrs(annotationExcludeCIDRs),
		opaquePorts:  r.ports(annotationOpaquePorts),
		logLevel:     r.oneOf(annotationLogLevel, "", "debug", "info", "warn", "error"),
		resources:    r.resources(o.Resources),
		intercept:    Intercept(r.oneOf(annotationIntercept, string(o.Intercept), string(Redirect), string(ProxyEnv))),
	}
}

func (r reader) refuseUnknown() {
	known := []string{
		annotationAppPort, annotationService, annotationEdge, annotationExcludePorts, annotationExcludeCIDRs,
		annotationOpaquePorts, annotationResources, annotationLogLevel, annotationIntercept,
		AnnotationStatus, AnnotationTouched,
	}
	for _, key := range slices.Sorted(maps.Keys(r.pod.Annotations)) {
		switch {
		case !strings.HasPrefix(key, prefix) || slices.Contains(known, key):
		case key == LabelTag || key == LabelInject:
			r.faults.note(place(key), "is a label: write it under metadata.labels")
		default:
			r.faults.note(place(key), "unknown, want one of %s", strings.Join(known[:len(known)-2], ", "))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(r.pod.Labels)) {
		if strings.HasPrefix(key, prefix) && key != LabelTag && key != LabelInject {
			r.faults.note(labelPlace(key), "unknown, want %s or %s; the rest are annotations", LabelTag, LabelInject)
		}
	}
}

func place(annotation string) string { return fmt.Sprintf("metadata.annotations[%s]", annotation) }
func labelPlace(label string) string { return fmt.Sprintf("metadata.labels[%s]", label) }

func (r reader) wrong(annotation, want string) {
	r.faults.note(place(annotation), "%q, want %s", r.pod.Annotations[annotation], want)
}

// refuseTag notes a tag that the sidecar, which reads it from the label, would not start with.
func (r reader) refuseTag() {
	tag, ok := r.pod.Labels[LabelTag]
	if ok && !policy.ValidTag(tag) {
		r.faults.note(labelPlace(LabelTag), "%q, want 1 to 63 of a-z, 0-9 and -, neither first nor last a -, and none of true, 1, false, 0", tag)
	}
}

// service is the service that the policy knows the pod by; without the annotation what the usual labels call it.
func (r reader) service() string {
	name, ok := r.pod.Annotations[annotationService]
	if !ok {
		for _, label := range []string{"app.kubernetes.io/name", "app"} {
			if name := r.pod.Labels[label]; name != "" {
				return name
			}
		}
		return ""
	}
	if name == "" || strings.ContainsAny(name, " \t\n,") {
		r.wrong(annotationService, "the name of a service in the policy, without blanks and commas")
	}
	return name
}

// appPort is the port that the annotation gives, by number or by name, or the first one that a container declares.
func (r reader) appPort() int32 {
	text, ok := r.pod.Annotations[annotationAppPort]
	if !ok {
		for _, c := range r.pod.Spec.Containers {
			for _, port := range c.Ports {
				if isTCP(port) {
					return port.ContainerPort
				}
			}
		}
		return 0
	}
	if number, err := strconv.ParseUint(text, 10, 16); err == nil && number > 0 {
		if isOurs(int32(number)) {
			r.wrong(annotationAppPort, "a port that the sidecar does not have")
		}
		return int32(number)
	}
	var names []string
	for _, c := range r.pod.Spec.Containers {
		for _, port := range c.Ports {
			if !isTCP(port) || port.Name == "" {
				continue
			}
			if port.Name == text {
				return port.ContainerPort
			}
			names = append(names, port.Name)
		}
	}
	want := "a port from 1 to 65535"
	if names != nil {
		want += ", or the name of one: " + strings.Join(names, ", ")
	}
	r.wrong(annotationAppPort, want)
	return 0
}

func isTCP(port corev1.ContainerPort) bool { return port.Protocol == "" || port.Protocol == "TCP" }

func isOurs(port int32) bool {
	return slices.Contains([]int32{portAdmin, portOutbound, portInbound, PortHealth}, port)
}

func (r reader) bool(annotation string) bool {
	return r.oneOf(annotation, "false", "true", "false") == "true"
}

func (r reader) oneOf(annotation, fallback string, values ...string) string {
	text, ok := r.pod.Annotations[annotation]
	if !ok {
		return fallback
	}
	if !slices.Contains(values, text) {
		last := len(values) - 1
		r.wrong(annotation, strings.Join(values[:last], ", ")+" or "+values[last])
	}
	return text
}

// items cuts a list at its commas; each item must please good.
func (r reader) items(annotation, want string, good func(string) bool) []string {
	text, ok := r.pod.Annotations[annotation]
	if !ok {
		return nil
	}
	items := strings.Split(text, ",")
	for i, item := range items {
		items[i] = strings.TrimSpace(item)
		if !good(items[i]) {
			r.wrong(annotation, want)
			return nil
		}
	}
	return items
}

func (r reader) ports(annotation string) []string {
	return r.items(annotation, "ports and ranges with commas between: 3306,8000-8080", func(item string) bool {
		first, last, isRange := strings.Cut(item, "-")
		if !isRange {
			last = first
		}
		from, err1 := strconv.ParseUint(first, 10, 16)
		to, err2 := strconv.ParseUint(last, 10, 16)
		return err1 == nil && err2 == nil && 0 < from && from <= to
	})
}

func (r reader) cidrs(annotation string) []string {
	return r.items(annotation, "addresses and prefixes with commas between: 10.9.0.0/16,10.1.2.3, without bits behind the length", func(item string) bool {
		if addr, err := netip.ParseAddr(item); err == nil {
			return addr.Zone() == "" && !addr.Is4In6()
		}
		p, err := netip.ParsePrefix(item)
		return err == nil && p == p.Masked() && !p.Addr().Is4In6()
	})
}

// resources reads {"requests": {"cpu": "50m"}, "limits": {"memory": "128Mi"}}, which stands in place of the default whole.
func (r reader) resources(fallback corev1.ResourceRequirements) corev1.ResourceRequirements {
	text, ok := r.pod.Annotations[annotationResources]
	if !ok {
		return fallback
	}
	var want struct {
		Requests corev1.ResourceList `json:"requests"`
		Limits   corev1.ResourceList `json:"limits"`
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&want); err != nil || decoder.More() {
		r.wrong(annotationResources, `JSON such as {"requests": {"cpu": "50m", "memory": "32Mi"}, "limits": {"memory": "128Mi"}}`)
	}
	return corev1.ResourceRequirements{Requests: want.Requests, Limits: want.Limits}
}
