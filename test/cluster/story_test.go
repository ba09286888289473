//go:build cluster

package cluster_test

import (
	"strings"
	"testing"

	"graylane/test/harness"
)

// story is a cluster and what we know of it, through all that is done to it.
type story struct {
	settings
	*kube
	report   *report
	injector string // the binary
	current  string // tag of the sidecar's image that the injector was told of last
}

// The namespaces: the first two are those of k8s/, the others are made here.
const (
	nsSystem     = "graylane-system"
	nsShop       = "shop"
	nsOutside    = "graylane-e2e"            // has no sidecars
	nsRestricted = "graylane-e2e-restricted" // forbids NET_ADMIN
)

func TestGraylaneInACluster(t *testing.T) {
	set := readSettings()
	s := &story{settings: set, kube: connect(t, set.kubectl), report: &report{}, injector: harness.Scratch("injector")}
	s.refuseTaken(t)
	buildInjector(t, s.injector)
	t.Cleanup(func() { s.report.publish(t, set.report) })
	s.report.note("cluster", "Kubernetes %s", s.version(t))
	s.makeNamespace(t, nsOutside, nil)

	t.Run("ByKustomize", func(t *testing.T) {
		by := kustomize{s}
		s.install(t, by)
		t.Run("TheShopStartsWithNativeSidecars", s.startShop)
		t.Run("GrayUsersMeetGrayPodsAndBaseUsersNever", s.seeTable)
		t.Run("AServiceThatSpansTagsIsFlagged", s.flagSpanning)
		t.Run("PodsAgreeOnAnEditedConfigMap", s.editPolicy)
		t.Run("TheSwitchTakesSeconds", s.switchOffAndOn)
		t.Run("RestartsLoseNoRequest", s.rollApps)
		t.Run("ANewVersionOfTheAppLosesNoRequest", s.upgradeApps)
		t.Run("AnUpgradeOfTheSidecarLosesNoRequest", func(t *testing.T) { s.upgradeSidecars(t, by) })
		t.Run("EvictionsLoseNoRequest", s.evict)
		t.Run("JobsEnd", s.runJobs)
		t.Run("AnAppOutOfMemoryLeavesItsSidecarAlone", s.starveApp)
		t.Run("ACrashedSidecarComesBack", s.crashSidecar)
		if set.stopAPI != "" {
			t.Run("TrafficNeedsNoAPIServer", s.withoutAPI)
		}
		t.Run("MalformedAnnotationsAreToldByApply", s.refuseMalformed)
		t.Run("RestrictedNamespacesRoute", s.runRestricted)
		t.Run("WithoutInjectorOnlyLabelledNamespacesWait", s.stopInjector)
		t.Run("AReinstalledInjectorHeals", func(t *testing.T) { s.reinstall(t, by) })
		s.removeShop(t)
		by.remove(t)
	})
	t.Run("ByChart", func(t *testing.T) {
		by := chart{s}
		s.install(t, by)
		t.Run("TheShopStartsByClusterIPs", s.startShopByClusterIPs)
		t.Run("GrayUsersMeetGrayPodsAndBaseUsersNever", s.seeTable)
		t.Run("TheSwitchTakesSeconds", s.switchOffAndOn)
		t.Run("RestartsLoseNoRequest", s.rollApps)
		t.Run("AnUpgradeOfTheSidecarLosesNoRequest", func(t *testing.T) { s.upgradeSidecars(t, by) })
		s.removeShop(t)
		by.remove(t)
	})
}

// refuseTaken keeps a cluster that has Graylane, or a shop, from being changed.
func (s *story) refuseTaken(t *testing.T) {
	t.Helper()
	for _, namespace := range []string{nsSystem, nsShop, nsOutside, nsRestricted} {
		if found := s.run(t, "get", "namespace", namespace, "--ignore-not-found", "-o", "name"); strings.TrimSpace(found) != "" {
			t.Fatalf("the cluster has a namespace %s, which this test makes and deletes: delete it, or take another cluster", namespace)
		}
	}
}
