package inject

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Options is what an operator decides for all pods. NewOptions has the defaults.
type Options struct {
	Image      string            // of the sidecar; required
	PullPolicy corev1.PullPolicy // "" leaves it to the cluster
	Policy     string            // ConfigMap in the pod's namespace whose key policy.yaml is the policy
	UID        int64             // the user that the sidecar runs as, unless the pod has it
	Intercept  Intercept         // of pods that do not say
	CNI        bool              // the node's network plugin redirects: no init step does
	Server     string            // version of the API server, such as 1.34; "" is not known, and believed to do
	Resources  corev1.ResourceRequirements
}

// Intercept is how the traffic of a pod comes to its sidecar.
type Intercept string

const (
	// Redirect is by kernel rules that an init step with NET_ADMIN installs.
	Redirect Intercept = "redirect"
	// ProxyEnv is by HTTP_PROXY, for clusters that forbid NET_ADMIN; it takes outbound calls only.
	ProxyEnv Intercept = "proxy-env"
)

// NewOptions gives the defaults for an image: little to reserve, and no limit of processor time, which would make
// every request wait.
func NewOptions(image string) Options {
	return Options{
		Image:     image,
		Policy:    "graylane-policy",
		UID:       1337,
		Intercept: Redirect,
		Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{"cpu": resource.MustParse("20m"), "memory": resource.MustParse("32Mi")},
			Limits:   corev1.ResourceList{"memory": resource.MustParse("256Mi")},
		},
	}
}

// Check tells everything that is wrong with the options, a fault a line.
func (o Options) Check() error {
	var faults []error
	note := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if o.Image == "" {
		note("image: required, want the image of the sidecar")
	}
	if wrong := validation.IsDNS1123Subdomain(o.Policy); wrong != nil {
		note("policy: %q, want the name of a ConfigMap: %s", o.Policy, wrong[0])
	}
	if o.UID < 1 || o.UID > maxUID {
		note("uid: %d, want 1 to %d: the calls of that user are not redirected, so root would bypass the sidecar", o.UID, maxUID)
	}
	if !o.Intercept.known() {
		note("intercept: %q, want %s or %s", o.Intercept, Redirect, ProxyEnv)
	}
	switch o.PullPolicy {
	case "", corev1.PullAlways, corev1.PullNever, corev1.PullIfNotPresent:
	default:
		note("pull policy: %q, want Always, Never or IfNotPresent", o.PullPolicy)
	}
	if _, _, err := o.server(); err != nil {
		note("Kubernetes version: %w", err)
	}
	return errors.Join(faults...)
}

// maxUID leaves room above for the search of a free one.
const maxUID = 1<<31 - 1 - 1000

func (i Intercept) known() bool { return i == Redirect || i == ProxyEnv }

// firstMinor is the release of Kubernetes 1 that has native sidecars switched on (KEP-753).
const firstMinor = 29

// lacksSidecars says that the API server is too old. A version that nobody told is new enough.
func (o Options) lacksSidecars() bool {
	major, minor, err := o.server()
	return err == nil && o.Server != "" && major == 1 && minor < firstMinor
}

// server reads 1.34, v1.34.2 and what clouds make of it: 1.34+, v1.34.2-gke.1.
func (o Options) server() (major, minor int, err error) {
	if o.Server == "" {
		return 0, 0, nil
	}
	parts := strings.SplitN(strings.TrimPrefix(o.Server, "v"), ".", 3)
	if len(parts) < 2 {
		return 0, 0, fmt.Errorf("got %q, want one such as 1.34", o.Server)
	}
	major, err1 := strconv.Atoi(parts[0])
	minor, err2 := strconv.Atoi(strings.TrimRight(parts[1], "+"))
	if err1 != nil || err2 != nil {
		return 0, 0, fmt.Errorf("got %q, want one such as 1.34", o.Server)
	}
	return major, minor, nil
}
