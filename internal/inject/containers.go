package inject

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// volumes are the policy, mounted whole since a subPath never sees a change, and a place for the last good one.
func volumes(o Options) []corev1.Volume {
	return []corev1.Volume{
		{Name: volumePolicy, VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: o.Policy},
			Optional:             new(true), // a pod starts without a policy, and takes it when it comes
		}}},
		{Name: volumeState, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
	}
}

// sidecarContainer is a native sidecar: it starts before the app and stops after it, and a Job ends without it.
func sidecarContainer(w wishes, o Options, uid int64) corev1.Container {
	return corev1.Container{
		Name:            ContainerSidecar,
		Image:           o.Image,
		ImagePullPolicy: o.PullPolicy,
		Args:            runArgs(w),
		Env: []corev1.EnvVar{
			field("GRAYLANE_TAG", "metadata.labels['"+LabelTag+"']"),
			// Kubernetes 1.35 and later copy the node's zone to the pod; before, it is empty unless somebody writes it.
			field("GRAYLANE_ZONE", "metadata.labels['topology.kubernetes.io/zone']"),
			field("POD_NAMESPACE", "metadata.namespace"),
		},
		Ports: []corev1.ContainerPort{
			{Name: "graylane-in", ContainerPort: portInbound},
			{Name: "graylane-health", ContainerPort: PortHealth},
		},
		RestartPolicy: new(corev1.ContainerRestartPolicyAlways),
		// The app starts as soon as the sidecar lives: one bad policy must not keep pods from starting.
		StartupProbe:   probe("/live", 1, 60),
		ReadinessProbe: probe("/ready", 2, 2),
		Lifecycle: &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{
			Exec: &corev1.ExecAction{Command: []string{binary, "drain"}},
		}},
		Resources:       w.resources,
		SecurityContext: locked(uid),
		VolumeMounts: []corev1.VolumeMount{
			{Name: volumePolicy, MountPath: dirPolicy, ReadOnly: true},
			{Name: volumeState, MountPath: dirState},
		},
	}
}

func runArgs(w wishes) []string {
	args := []string{"run", "--policy=" + dirPolicy + "/" + PolicyFile, "--state=" + dirState, "--grace=5s"}
	if w.appPort != 0 {
		args = append(args, fmt.Sprintf("--app=127.0.0.1:%d", w.appPort))
	}
	if w.service != "" {
		args = append(args, "--service="+w.service)
	}
	if w.edge {
		args = append(args, "--edge")
	}
	if w.opaquePorts != nil {
		args = append(args, "--opaque-ports="+strings.Join(w.opaquePorts, ","))
	}
	if w.logLevel != "" {
		args = append(args, "--log-level="+w.logLevel)
	}
	return args
}

// redirectContainer is the init step that installs the kernel rules, and the only one with rights beyond an app's.
func redirectContainer(w wishes, o Options, uid int64) corev1.Container {
	args := []string{"redirect", fmt.Sprintf("--uid=%d", uid)}
	for _, direction := range []string{"inbound", "outbound"} {
		if w.excludePorts != nil {
			args = append(args, "--"+direction+"-exclude-ports="+strings.Join(w.excludePorts, ","))
		}
		if w.excludeCIDRs != nil {
			args = append(args, "--"+direction+"-exclude-peers="+strings.Join(w.excludeCIDRs, ","))
		}
	}
	security := locked(0)
	security.RunAsNonRoot = new(false) // the pod may say otherwise for its own
	security.Capabilities.Add = []corev1.Capability{"NET_ADMIN"}
	return corev1.Container{
		Name:            containerRedirect,
		Image:           o.Image,
		ImagePullPolicy: o.PullPolicy,
		Args:            args,
		Resources:       w.resources,
		SecurityContext: security,
	}
}

// locked is what the restricted Pod Security Standard asks for, of a user.
func locked(uid int64) *corev1.SecurityContext {
	return &corev1.SecurityContext{
		RunAsUser:                new(uid),
		RunAsGroup:               new(uid),
		RunAsNonRoot:             new(true),
		Privileged:               new(false), // though the pod's other containers may be
		AllowPrivilegeEscalation: new(false),
		ReadOnlyRootFilesystem:   new(true),
		Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		SeccompProfile:           &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
}

func field(name, path string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{
		FieldRef: &corev1.ObjectFieldSelector{FieldPath: path},
	}}
}

func probe(path string, period, failures int32) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
			Path: path, Port: intstr.FromInt32(PortHealth),
		}},
		PeriodSeconds:    period,
		FailureThreshold: failures,
	}
}
