//go:build cluster

package cluster_test

import (
	"cmp"
	"os"
	"testing"

	"graylane/test/harness"
)

// settings are what the environment says.
type settings struct {
	images     string // E2E_IMAGES, what stands before /sidecar, /injector and /demo in their names (default graylane)
	tag        string // E2E_TAG, of the images (default dev)
	next       string // E2E_NEXT, of those that are upgraded to (default next)
	pullPolicy string // E2E_PULL_POLICY (default the cluster's: what is there is not pulled)
	busybox    string // E2E_BUSYBOX, an image with kill (default busybox)
	kubectl    string // KUBECTL (default kubectl)
	helm       string // HELM, a command line (default helm)
	stopAPI    string // E2E_STOP_API, a command line that takes the API server away; none: it is not tried
	startAPI   string // E2E_START_API, brings it back
	report     string // E2E_REPORT, a file for the report (default bin/k8s-e2e.txt)
}

func readSettings() settings {
	or := func(name, fallback string) string { return cmp.Or(os.Getenv(name), fallback) }
	return settings{
		images: or("E2E_IMAGES", "graylane"), tag: or("E2E_TAG", "dev"), next: or("E2E_NEXT", "next"),
		pullPolicy: or("E2E_PULL_POLICY", ""), busybox: or("E2E_BUSYBOX", "busybox"),
		kubectl: or("KUBECTL", "kubectl"), helm: or("HELM", "helm"),
		stopAPI: or("E2E_STOP_API", ""), startAPI: or("E2E_START_API", ""),
		report: or("E2E_REPORT", harness.Repository+"/bin/k8s-e2e.txt"),
	}
}

// image is the name of one of our images.
func (s settings) image(name, tag string) string { return s.images + "/" + name + ":" + tag }

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }
