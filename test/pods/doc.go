// Package pods gives tests pods as they are in Kubernetes, without Kubernetes: each in a network namespace of its own,
// with a sidecar and the kernel's rules of `sidecar redirect`, beside an app that knows of no proxy.
//
// It takes root. The namespaces belong to threads of the test's process and are gone with it, however it ends; so are
// the processes in them.
package pods
