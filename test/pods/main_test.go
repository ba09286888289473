// Package pods_test runs sidecars as they run in Kubernetes, without Kubernetes: each in a network namespace of its own,
// beside an app that knows of no proxy, with the kernel's rules of `sidecar redirect`.
//
// It takes root. The namespaces belong to threads of the test's process and are gone with it, however it ends; so are
// the processes in them.
package pods_test

import (
	"os"
	"testing"

	"graylane/test/harness"
)

func TestMain(m *testing.M) {
	if args := appArgs(); len(args) > 0 {
		runApp(args)
	}
	os.Exit(harness.Main(m))
}
