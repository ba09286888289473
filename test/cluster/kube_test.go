//go:build cluster

package cluster_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"graylane/test/harness"
)

// kube reaches the cluster: with kubectl for what people do with it, and through `kubectl proxy` for what is asked often.
type kube struct {
	kubectl string
	api     string // http://127.0.0.1:port
}

// connect starts the proxy, which ends with the test.
func connect(t *testing.T, kubectl string) *kube {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cmd := exec.CommandContext(ctx, kubectl, "proxy", "--port=0", "--reject-paths=^$")
	out, err := cmd.StdoutPipe()
	harness.Must(t, err)
	harness.Must(t, cmd.Start())
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait() // it was killed
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	_, address, found := strings.Cut(strings.TrimSpace(line), "Starting to serve on ")
	if err != nil || !found {
		t.Fatalf("kubectl proxy says %q, want its address: %v", line, err)
	}
	return &kube{kubectl, "http://" + address}
}

// try runs kubectl and gives what it says on both outputs.
func (k *kube) try(input string, args ...string) (string, error) {
	return command(input, k.kubectl, args...)
}

func command(input, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Stdin = harness.Repository, strings.NewReader(input)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(errOut.String()))
	}
	return out.String(), nil
}

// run is kubectl where it must succeed.
func (k *kube) run(t testing.TB, args ...string) string {
	t.Helper()
	return k.feed(t, "", args...)
}

// feed is run with an input.
func (k *kube) feed(t testing.TB, input string, args ...string) string {
	t.Helper()
	out, err := k.try(input, args...)
	harness.Must(t, err)
	return out
}

// fetch asks the API server for a page.
func (k *kube) fetch(path string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, k.api+path, nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: status %d: %s", path, resp.StatusCode, text)
	}
	return text, err
}

// fetchPod asks a pod for a page, through the API server.
func (k *kube) fetchPod(namespace, pod string, port int, path string) ([]byte, error) {
	return k.fetch(fmt.Sprintf("/api/v1/namespaces/%s/pods/%s:%d/proxy%s", namespace, pod, port, path))
}

func (k *kube) get(path string, into any) error {
	text, err := k.fetch(path)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// pods are those that stay, of a namespace; selector may be "".
func (k *kube) pods(t testing.TB, namespace, selector string) []corev1.Pod {
	t.Helper()
	var list corev1.PodList
	harness.Must(t, k.get("/api/v1/namespaces/"+namespace+"/pods?labelSelector="+selector, &list))
	var staying []corev1.Pod
	for _, pod := range list.Items {
		if pod.DeletionTimestamp == nil && pod.Status.Phase != corev1.PodSucceeded {
			staying = append(staying, pod)
		}
	}
	return staying
}

func (k *kube) pod(t testing.TB, namespace, name string) corev1.Pod {
	t.Helper()
	var pod corev1.Pod
	harness.Must(t, k.get("/api/v1/namespaces/"+namespace+"/pods/"+name, &pod))
	return pod
}

func (k *kube) version(t testing.TB) string {
	t.Helper()
	var v struct{ GitVersion string }
	harness.Must(t, k.get("/version", &v))
	return v.GitVersion
}

// The patience for what a cluster does: pulls of images and slow nodes included.
const clusterPatience = "5m"

// settle returns when every Deployment of a namespace is as it is to be, and no pod is left that ends.
func (k *kube) settle(t testing.TB, namespace string) {
	t.Helper()
	for _, deployment := range strings.Fields(k.run(t, "-n", namespace, "get", "deployments", "-o", "name")) {
		k.run(t, "-n", namespace, "rollout", "status", deployment, "--timeout="+clusterPatience)
	}
	harness.WaitWithin(t, 5*time.Minute, "pods that end are gone in "+namespace, func() bool {
		var list corev1.PodList
		if k.get("/api/v1/namespaces/"+namespace+"/pods", &list) != nil {
			return false
		}
		for _, pod := range list.Items {
			if pod.DeletionTimestamp != nil {
				return false
			}
		}
		return true
	})
}

func (k *kube) makeNamespace(t testing.TB, name string, labels map[string]string) {
	t.Helper()
	object, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name, "labels": labels},
	})
	harness.Must(t, err)
	k.feed(t, string(object), "apply", "-f", "-")
	t.Cleanup(func() { k.run(t, "delete", "namespace", name, "--ignore-not-found", "--timeout="+clusterPatience) })
}
