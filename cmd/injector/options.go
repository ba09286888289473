package main

import (
	"fmt"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"graylane/internal/inject"
)

// optionFlags are what an operator decides for all pods, as `inject` and `serve` are told it.
type optionFlags struct {
	options    inject.Options
	pullPolicy string
	intercept  string
	resources  [4]string // in the order of resourceFlags
}

// resourceFlags are the resources of a sidecar that asks for none of its own.
var resourceFlags = [4]struct{ name, fallback, usage string }{
	{"cpu-request", "20m", "`quantity` of processor time to reserve for a sidecar"},
	{"memory-request", "32Mi", "`quantity` of memory to reserve for a sidecar"},
	{"cpu-limit", "", "`quantity` of processor time that a sidecar may use; a limit makes requests wait (default none)"},
	{"memory-limit", "256Mi", "`quantity` of memory that a sidecar may use; empty: no limit"},
}

func (f *optionFlags) add(fs *pflag.FlagSet) {
	defaults := inject.NewOptions(defaultImage())
	fs.StringVar(&f.options.Image, "image", defaults.Image, "`image` of the sidecar (required unless this is a release)")
	fs.StringVar(&f.pullPolicy, "pull-policy", "", "pull `policy` of that image: Always, Never or IfNotPresent (default that of the cluster)")
	fs.StringVar(&f.options.Policy, "policy", defaults.Policy, "`name` of the ConfigMap, in the namespace of the pod, whose key "+inject.PolicyFile+" is the policy")
	fs.Int64Var(&f.options.UID, "uid", defaults.UID, "`uid` that sidecars run as, unless the pod's own containers do")
	fs.StringVar(&f.intercept, "intercept", string(defaults.Intercept), "`way` of pods that do not say one: redirect, or proxy-env where NET_ADMIN is forbidden")
	fs.BoolVar(&f.options.CNI, "cni", false, "add no init step that redirects: a network plugin does")
	for i, r := range resourceFlags {
		fs.StringVar(&f.resources[i], r.name, r.fallback, r.usage)
	}
}

func defaultImage() string {
	if version == "" {
		return ""
	}
	return "graylane/sidecar:" + version
}

// read checks the flags. The error is a usageError with every fault.
func (f *optionFlags) read() (inject.Options, error) {
	o := f.options
	o.PullPolicy, o.Intercept = corev1.PullPolicy(f.pullPolicy), inject.Intercept(f.intercept)
	o.Resources = corev1.ResourceRequirements{Requests: corev1.ResourceList{}, Limits: corev1.ResourceList{}}
	places := [4]struct {
		list corev1.ResourceList
		name corev1.ResourceName
	}{
		{o.Resources.Requests, corev1.ResourceCPU}, {o.Resources.Requests, corev1.ResourceMemory},
		{o.Resources.Limits, corev1.ResourceCPU}, {o.Resources.Limits, corev1.ResourceMemory},
	}
	for i, text := range f.resources {
		if text == "" {
			continue
		}
		quantity, err := resource.ParseQuantity(text)
		if err != nil {
			return o, usageError{fmt.Errorf("%s: got %q, want a quantity such as %s", resourceFlags[i].name, text, "100m or 64Mi")}
		}
		places[i].list[places[i].name] = quantity
	}
	if err := o.Check(); err != nil {
		return o, usageError{err}
	}
	return o, nil
}
