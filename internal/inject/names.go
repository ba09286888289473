package inject

// What people write on pods and namespaces, and what we write on pods.
const (
	prefix = "graylane.dev/"

	LabelInject = prefix + "inject" // enabled or disabled
	LabelTag    = prefix + "tag"    // the version that a pod belongs to

	annotationAppPort      = prefix + "app-port"
	annotationService      = prefix + "service"
	annotationEdge         = prefix + "edge"
	annotationExcludePorts = prefix + "exclude-ports"
	annotationExcludeCIDRs = prefix + "exclude-cidrs"
	annotationOpaquePorts  = prefix + "opaque-ports"
	annotationResources    = prefix + "resources"
	annotationLogLevel     = prefix + "log-level"
	annotationIntercept    = prefix + "intercept"

	// AnnotationStatus says what became of a pod: injected, or skipped and why.
	AnnotationStatus = prefix + "status"
	// AnnotationTouched is changed to make the kubelet look at the pod, and its ConfigMaps, at once.
	AnnotationTouched = prefix + "touched"

	statusInjected = "injected"
	enabled        = "enabled"
	disabled       = "disabled"
)

// What a pod gets.
const (
	// ContainerSidecar is the name of the sidecar's container.
	ContainerSidecar  = "graylane"
	containerRedirect = "graylane-redirect"

	volumePolicy = "graylane-policy"
	volumeState  = "graylane-state"

	// PolicyFile is the key of the ConfigMap that is the policy.
	PolicyFile = "policy.yaml"
	dirPolicy  = "/etc/graylane"
	dirState   = "/var/lib/graylane"
	binary     = "/sidecar"
)

// The ports of the sidecar; apps cannot have them.
const (
	portAdmin    = 15000
	portOutbound = 15001
	portInbound  = 15006
	// PortHealth has /live, /ready and /metrics of a sidecar.
	PortHealth = 15021
)
