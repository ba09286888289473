package main

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"graylane/internal/inject"
)

// fleet is what the sidecars of a namespace are up to.
type fleet struct {
	policy   string // digest of the policy in the ConfigMap; "" if there is none
	sidecars []sidecarState
	spanning []string // Services that select pods of several tags, each with what it selects
}

// sidecarState is one sidecar.
type sidecarState struct {
	pod, tag string
	ready    bool
	digest   string // of the policy in force; "" for none
	valid    bool   // the file as it is now is in force
	fault    error  // why it could not be asked
}

// inspect looks at all pods that have a sidecar and are to run on.
func inspect(ctx context.Context, k *kubectl, configMap string) (fleet, error) {
	var pods corev1.PodList
	var services corev1.ServiceList
	if err := k.get(ctx, &pods, "pods", "--selector", inject.LabelTag); err != nil {
		return fleet{}, err
	}
	if err := k.get(ctx, &services, "services"); err != nil {
		return fleet{}, err
	}
	policy, err := readPolicy(ctx, k, configMap)
	if err != nil {
		return fleet{}, err
	}
	f := fleet{spanning: spanning(services.Items, pods.Items)}
	if policy.Data[inject.PolicyFile] != "" {
		if f.policy, err = digest(policy); err != nil {
			return fleet{}, err
		}
	}
	for _, pod := range pods.Items {
		if hasSidecar(&pod) && pod.DeletionTimestamp == nil && pod.Status.Phase == corev1.PodRunning {
			f.sidecars = append(f.sidecars, sidecarState{pod: pod.Name, tag: pod.Labels[inject.LabelTag], ready: isReady(&pod)})
		}
	}
	var group errgroup.Group
	group.SetLimit(8) // processes of kubectl at a time
	for i := range f.sidecars {
		group.Go(func() error {
			f.sidecars[i].ask(ctx, k)
			return nil
		})
	}
	return f, group.Wait()
}

func hasSidecar(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.InitContainers, func(c corev1.Container) bool { return c.Name == inject.ContainerSidecar })
}

func isReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// ask reads the metrics of a sidecar, through the API server: the admin port is for the pod alone.
func (s *sidecarState) ask(ctx context.Context, k *kubectl) {
	path := fmt.Sprintf("/api/v1/namespaces/%s/pods/%s:%d/proxy/metrics", k.namespace, s.pod, inject.PortHealth)
	page, err := k.call(ctx, nil, "get", "--raw", path)
	if err != nil {
		s.fault = err
		return
	}
	found := regexp.MustCompile(`(?m)^graylane_policy_info{digest="(\w+)"} 1$`).FindSubmatch(page)
	if found != nil {
		s.digest = string(found[1])
	}
	s.valid = regexp.MustCompile(`(?m)^graylane_policy_valid 1$`).Match(page)
}

// agree says that every sidecar obeys the policy of the ConfigMap.
func (f fleet) agree() bool {
	return !slices.ContainsFunc(f.sidecars, func(s sidecarState) bool { return s.fault != nil || s.digest != f.policy || !s.valid })
}

// spanning finds Services that send whoever comes past the sidecars to pods of several tags.
func spanning(services []corev1.Service, pods []corev1.Pod) []string {
	var found []string
	for _, s := range services {
		if len(s.Spec.Selector) == 0 {
			continue // its endpoints are somebody else's work
		}
		tags := map[string]bool{}
		for _, pod := range pods {
			if labels.SelectorFromSet(s.Spec.Selector).Matches(labels.Set(pod.Labels)) {
				tags[pod.Labels[inject.LabelTag]] = true
			}
		}
		if len(tags) > 1 {
			found = append(found, fmt.Sprintf("service %s selects pods of %s", s.Name, strings.Join(slices.Sorted(maps.Keys(tags)), " and ")))
		}
	}
	return found
}
