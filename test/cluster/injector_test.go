//go:build cluster

package cluster_test

import (
	"strings"
	"testing"
	"time"

	"graylane/test/harness"
)

// refuseMalformed applies a Deployment that asks for what there is not.
func (s *story) refuseMalformed(t *testing.T) {
	for _, namespace := range []string{nsShop, nsOutside} {
		text := write(t, []object{idler(namespace, "malformed", map[string]string{"graylane.dev/inject": "enabled"}, map[string]string{"graylane.dev/app-port": "http"})})
		out, err := s.try(text, "apply", "-f", "-")
		if err == nil || !strings.Contains(err.Error(), `metadata.annotations[graylane.dev/app-port]: "http", want a port`) {
			t.Errorf("%s: apply says %q and %v, want it to name the annotation", namespace, out, err)
		}
	}
}

// idler is a Deployment of one app that serves and is not called.
func idler(namespace, name string, labels, annotations map[string]string) object {
	all := map[string]string{"app": name}
	for key, value := range labels {
		all[key] = value
	}
	return object{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": object{"name": name, "namespace": namespace},
		"spec": object{"selector": object{"matchLabels": object{"app": name}}, "template": object{
			"metadata": object{"labels": all, "annotations": annotations},
			"spec": object{"terminationGracePeriodSeconds": 1, "containers": []any{
				object{"name": "app", "image": "graylane/demo:dev", "args": []any{"app", "--name=" + name, "--listen=:8080"}},
			}},
		}},
	}
}

func (s *story) applyIdler(t *testing.T, namespace, name string) {
	t.Helper()
	s.feed(t, write(t, s.withImages([]object{idler(namespace, name, nil, nil)}, s.tag)), "apply", "-f", "-")
}

// stopInjector takes the injector's pods away, but not the webhooks: it is down.
func (s *story) stopInjector(t *testing.T) {
	s.run(t, "-n", nsSystem, "scale", "deployment/graylane-injector", "--replicas=0")
	s.settle(t, nsSystem)

	s.applyIdler(t, nsOutside, "elsewhere")
	s.settle(t, nsOutside)
	s.applyIdler(t, nsShop, "waits") // which is taken unseen
	harness.WaitWithin(t, time.Minute, "the pod of a labelled namespace is refused", func() bool {
		return strings.Contains(s.run(t, "-n", nsShop, "get", "events", "--field-selector=reason=FailedCreate", "-o", "jsonpath={.items[*].message}"),
			`failed calling webhook "namespace.injector.graylane.dev"`)
	})
	if n := len(s.pods(t, nsShop, "app=waits")); n != 0 {
		t.Errorf("%d pods without a sidecar, want none", n)
	}
	s.losesNone(t, "without injector", func() {
		for _, c := range s.crowds() {
			c.waitForMore(t, 100)
		}
	})

	s.run(t, "-n", nsSystem, "scale", "deployment/graylane-injector", "--replicas=2")
	begin := time.Now()
	s.settle(t, nsSystem)
	s.report.note("injector ready again after", "%s", seconds([]time.Duration{time.Since(begin)}))
	s.settle(t, nsShop)
	s.report.note("pods that waited for it ready after", "%s", seconds([]time.Duration{time.Since(begin)}))
	s.seeNativeSidecar(t, s.pods(t, nsShop, "app=waits")[0])
	s.run(t, "-n", nsShop, "delete", "deployment/waits")
}

// reinstall deletes the whole injector: pods start without a sidecar then, and get it when they are restarted after it is
// back.
func (s *story) reinstall(t *testing.T, by installer) {
	by.remove(t)
	s.losesNone(t, "the injector is deleted", func() {
		s.applyIdler(t, nsOutside, "elsewhere-too")
		s.settle(t, nsOutside)
		s.applyIdler(t, nsShop, "bare")
		s.settle(t, nsShop)
	})
	if pod := s.pods(t, nsShop, "app=bare")[0]; sidecarStatus(pod).Name != "" {
		t.Error("a pod has a sidecar though the injector is deleted")
	}
	s.install(t, by)
	s.run(t, "-n", nsShop, "rollout", "restart", "deployment/bare")
	s.settle(t, nsShop)
	s.seeNativeSidecar(t, s.pods(t, nsShop, "app=bare")[0])
	s.run(t, "-n", nsShop, "delete", "deployment/bare")
}

// runRestricted runs the shop where NET_ADMIN is forbidden.
func (s *story) runRestricted(t *testing.T) {
	s.makeNamespace(t, nsRestricted, map[string]string{
		"graylane.dev/inject": "enabled", "pod-security.kubernetes.io/enforce": "restricted",
	})
	s.feed(t, write(t, s.withImages(s.restrictedShop(t), s.tag)), "apply", "-f", "-")
	s.settle(t, nsRestricted)
	for _, pod := range s.pods(t, nsRestricted, "") {
		for _, container := range pod.Spec.InitContainers {
			if container.Name == "graylane-redirect" {
				t.Errorf("%s has the init step that needs NET_ADMIN", pod.Name)
			}
		}
	}
	s.visitRestricted(t, crowd{s.kube, nsRestricted, "visitors"}, "http://front/", "1 gray gray gray", "5 base base base")
	s.visitRestricted(t, crowd{s.kube, nsOutside, "strangers"}, "http://front."+nsRestricted+"/", "1 base gray gray", "5 base base base")
	s.run(t, "delete", "namespace", nsRestricted, "--timeout="+clusterPatience)
}

// visitRestricted sends a crowd, and wants these of its ways.
func (s *story) visitRestricted(t *testing.T, c crowd, url string, paths ...string) {
	t.Helper()
	pod := parse(t, s.visitors(t, c, url))
	at(pod[0], "metadata")["annotations"] = object{"graylane.dev/intercept": "proxy-env"}
	s.feed(t, write(t, pod), "apply", "-f", "-")
	s.run(t, "-n", c.namespace, "wait", "--for=condition=Ready", "pod/"+c.pod, "--timeout="+clusterPatience)
	c.waitForCalm(t)
	before := c.tally(t)
	c.waitForMore(t, 240)
	got := c.tally(t).since(before)
	s.run(t, "-n", c.namespace, "delete", "pod", c.pod, "--timeout="+clusterPatience)
	s.report.note("proxy-env under Pod Security restricted, from "+c.namespace, "%d requests, %d failed, %d leaked", got.Sent, got.Failed, got.Leaked)
	for _, want := range paths {
		if got.Paths[want] == 0 {
			t.Errorf("no user %s in %v", want, got.Paths)
		}
	}
	if got.Failed+got.Leaked > 0 {
		t.Errorf("%d requests failed and %d leaked: %q", got.Failed, got.Leaked, got.Faults)
	}
}

// restrictedShop is the shop in the other namespace, by HTTP_PROXY; the namespace itself is made already.
func (s *story) restrictedShop(t *testing.T) []object {
	t.Helper()
	text := strings.NewReplacer(
		"namespace: "+nsShop+"\n", "namespace: "+nsRestricted+"\n",
		"."+nsShop+".", "."+nsRestricted+".", // in names that DNS knows
	).Replace(s.run(t, "kustomize", "k8s/overlays/shop"))
	var kept []object
	for _, o := range parse(t, text) {
		switch o["kind"] {
		case "Namespace":
			continue
		case "Deployment":
			at(o, "spec", "template", "metadata")["annotations"] = object{"graylane.dev/intercept": "proxy-env"}
		case "Service":
			toSidecar(o)
		}
		kept = append(kept, o)
	}
	return kept
}

// toSidecar lets a Service that callers name go to the sidecar's port: nothing redirects what goes to the app's.
func toSidecar(service object) {
	for _, port := range at(service, "spec")["ports"].([]any) {
		if port := port.(object); port["targetPort"] == 8080 {
			port["targetPort"] = 15006
		}
	}
}
