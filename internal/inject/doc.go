// Package inject adds the sidecar to a pod.
//
// [Pod] takes a pod as it was written and gives a JSON patch (RFC 6902), or says why the pod gets none; it does no I/O,
// so the webhook and the command line cannot differ. [Template] tells what Pod would refuse in the template of a
// workload. [Manifest] finds the pods in a file, whatever makes them, and patches them where they stand.
package inject
