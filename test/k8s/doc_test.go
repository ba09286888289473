// Package k8s_test renders what k8s/ has, with the libraries of kustomize and Helm, which the product itself does not need.
package k8s_test
