package inject

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// proxyVariables are set in both spellings: curl reads small letters alone, others capitals alone. HTTPS_PROXY is not
// among them: what is encrypted would pass the sidecar unread.
var proxyVariables = [...]struct{ name, value string }{
	{"HTTP_PROXY", fmt.Sprintf("http://127.0.0.1:%d", portOutbound)},
	{"NO_PROXY", "localhost,127.0.0.1,::1"},
}

// addProxyEnv sets the variables in every container of the pod's own. A variable that is there in one spelling is left
// alone in both: clients differ in which they read, and must not differ in where they go. The order is that of the init
// containers when the patch has come so far.
func addProxyEnv(p *Patch, pod *corev1.Pod, order []string) {
	for i, c := range pod.Spec.Containers {
		extend(p, fmt.Sprintf("/spec/containers/%d/env", i), c.Env != nil, missingProxyEnv(c))
	}
	at := map[string]int{}
	for i, name := range order {
		at[name] = i
	}
	for _, c := range pod.Spec.InitContainers {
		if !isOurContainer(c.Name) {
			extend(p, fmt.Sprintf("%s/%d/env", initPath, at[c.Name]), c.Env != nil, missingProxyEnv(c))
		}
	}
}

func missingProxyEnv(c corev1.Container) []corev1.EnvVar {
	var missing []corev1.EnvVar
	for _, v := range proxyVariables {
		lower := strings.ToLower(v.name)
		if !slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == v.name || e.Name == lower }) {
			missing = append(missing, corev1.EnvVar{Name: v.name, Value: v.value}, corev1.EnvVar{Name: lower, Value: v.value})
		}
	}
	return missing
}
