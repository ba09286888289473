// Package cluster_test installs Graylane in a real Kubernetes and does there what its operators do: `make k8s-e2e`, which
// asks the cluster of KUBECONFIG. It measures, and prints a report. The build tag `cluster` keeps it out of other runs.
package cluster_test
