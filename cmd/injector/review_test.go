package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"

	"graylane/internal/inject"
)

// webhook is the real server, with a certificate that a keeper has made, asked as an API server asks it.
type webhook struct {
	t      *testing.T
	client *http.Client
}

func startWebhook(t *testing.T) *webhook {
	t.Helper()
	a, c := startAPIServer(t)
	k := newKeeper(t, c, time.Now())
	mustSync(t, k)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		r := newReviewer(inject.NewOptions("graylane/sidecar:test"), slog.New(slog.DiscardHandler))
		done <- serveTLS(ctx, l, r, k.certificate, 0)
	}()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(a.authorities())
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots},
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, l.Addr().String())
		},
	}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		stop()
		if err := <-done; err != nil {
			t.Errorf("the end of the server: %v", err)
		}
	})
	return &webhook{t, &http.Client{Transport: transport}}
}

func (w *webhook) post(path, body string) (int, string) {
	w.t.Helper()
	resp, err := w.client.Post("https://"+host+path, "application/json", strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// ask posts a review of a new object of a kind.
func (w *webhook) ask(path, kind, object string) *admissionv1.AdmissionResponse {
	w.t.Helper()
	return w.askOf("CREATE", path, kind, object, "null")
}

func (w *webhook) askOf(operation, path, kind, object, old string) *admissionv1.AdmissionResponse {
	w.t.Helper()
	// metadata.namespace of a pod that a controller makes is empty; the request has it.
	status, text := w.post(path, fmt.Sprintf(`{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "705ab4f5",
		"operation": %q, "namespace": "shop", "kind": {"version": "v1", "kind": %q}, "object": %s, "oldObject": %s}}`, operation, kind, object, old))
	if status != http.StatusOK {
		w.t.Fatalf("status %d: %s", status, text)
	}
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal([]byte(text), &review); err != nil {
		w.t.Fatal(err)
	}
	if review.APIVersion != "admission.k8s.io/v1" || review.Kind != "AdmissionReview" || review.Response.UID != "705ab4f5" {
		w.t.Errorf("got %s, want a review that answers this one", text)
	}
	return review.Response
}

const (
	podTemplate = `{"metadata": {"generateName": "users-", "labels": {"app": "users"%s}, "annotations": {%s}}, "spec": {%s "containers": [{"name": "app"}]}}`
	badEdge     = `"graylane.dev/edge": "perhaps"`
)

func podOf(labels, annotations, spec string) string {
	return fmt.Sprintf(podTemplate, labels, annotations, spec)
}

func TestAPodGetsAPatchOverTLS(t *testing.T) {
	w := startWebhook(t)
	answer := w.ask(pathMutate, "Pod", podOf("", "", ""))
	if !answer.Allowed || answer.PatchType == nil || *answer.PatchType != admissionv1.PatchTypeJSONPatch {
		t.Fatalf("got %+v, want a JSON patch", answer)
	}
	var patch []struct{ Op, Path string }
	if err := json.Unmarshal(answer.Patch, &patch); err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, op := range patch {
		paths = append(paths, op.Op+" "+op.Path)
	}
	got := strings.Join(paths, ", ")
	want := "add /metadata/labels/graylane.dev~1tag, add /metadata/annotations/graylane.dev~1status, add /spec/volumes, add /spec/initContainers"
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if !bytes.Contains(answer.Patch, []byte(`"graylane/sidecar:test"`)) {
		t.Errorf("no image in %s", answer.Patch)
	}
}

func deployment(pod string) string { return `{"spec": {"template": ` + pod + `}}` }

func TestReviewsAreAnswered(t *testing.T) {
	w := startWebhook(t)
	tests := []struct {
		name, path, kind, object string
		refused                  string // "": allowed
	}{
		{"a pod with a bad annotation", pathMutate, "Pod", podOf("", badEdge, ""), `graylane: metadata.annotations[graylane.dev/edge]: "perhaps", want true or false`},
		{"a pod with the network of its host", pathMutate, "Pod", podOf("", "", `"hostNetwork": true,`), ""},
		{"a pod that is switched off", pathMutate, "Pod", podOf(`, "graylane.dev/inject": "disabled"`, badEdge, ""), ""},
		{"no pod at all", pathMutate, "Pod", `"pod"`, "not a pod"},
		{"another kind", pathMutate, "Service", `{}`, ""},
		{"a good deployment", pathValidateNamespace, "Deployment", deployment(podOf("", "", "")), ""},
		{"a bad deployment", pathValidateNamespace, "Deployment", deployment(podOf("", badEdge, "")), "in the template of the pods: metadata.annotations[graylane.dev/edge]"},
		{"a bad job by schedule", pathValidateNamespace, "CronJob", `{"spec": {"jobTemplate": ` + deployment(podOf("", badEdge, "")) + `}}`, "in the template of the pods"},
		{"a bad deployment where pods must ask", pathValidatePods, "Deployment", deployment(podOf("", badEdge, "")), ""},
		{"a bad deployment that asks", pathValidatePods, "Deployment", deployment(podOf(`, "graylane.dev/inject": "enabled"`, badEdge, "")), "in the template of the pods"},
		{"a deployment without a template", pathValidateNamespace, "Deployment", `{"spec": {}}`, "Deployment has no spec.template"},
		{"a kind without pods", pathValidateNamespace, "Service", `{}`, ""},
		{"a pod whose fields have capitals", pathMutate, "Pod", podOf("", badEdge, `"HostNetwork": true,`), "want true or false"},
	}
	for _, tt := range tests {
		answer := w.ask(tt.path, tt.kind, tt.object)
		if answer.Allowed != (tt.refused == "") {
			t.Errorf("%s: allowed is %v: %v", tt.name, answer.Allowed, answer.Result)
		}
		if tt.refused != "" && (answer.Result == nil || !strings.Contains(answer.Result.Message, tt.refused)) {
			t.Errorf("%s: got %v, want %q", tt.name, answer.Result, tt.refused)
		}
	}
}

func TestOnlyAChangeOfTheTemplateIsRefused(t *testing.T) {
	w := startWebhook(t)
	good, bad := deployment(podOf("", "", "")), deployment(podOf("", badEdge, ""))
	scaled := strings.Replace(bad, `"spec": {`, `"spec": {"replicas": 3, `, 1)
	tests := []struct {
		name, operation, object, old string
		allowed                      bool
	}{
		{"a bad template in place of a good one", "UPDATE", bad, good, false},
		{"a good template in place of a bad one", "UPDATE", good, bad, true},
		{"a bad one that was there is scaled", "UPDATE", scaled, bad, true},
		{"a bad one that was there is deleted", "DELETE", "null", bad, true},
	}
	for _, tt := range tests {
		answer := w.askOf(tt.operation, pathValidateNamespace, "Deployment", tt.object, tt.old)
		if answer.Allowed != tt.allowed {
			t.Errorf("%s: allowed is %v: %v", tt.name, answer.Allowed, answer.Result)
		}
	}
}

func TestWhatStandsInTheWrongPlaceIsTold(t *testing.T) {
	w := startWebhook(t)
	misplaced := strings.Replace(deployment(podOf("", "", "")), `{`, `{"metadata": {"annotations": {"graylane.dev/app-port": "8080", "other": "1"}, "labels": {"graylane.dev/tag": "gray"}}, `, 1)
	answer := w.ask(pathValidateNamespace, "Deployment", misplaced)
	want := []string{
		"graylane: the label graylane.dev/tag means nothing here: put it into the metadata of the template of the pods",
		"graylane: the annotation graylane.dev/app-port means nothing here: put it into the metadata of the template of the pods",
	}
	if !answer.Allowed || !slices.Equal(answer.Warnings, want) {
		t.Errorf("got %v with %q, want it allowed with %q", answer.Allowed, answer.Warnings, want)
	}
}

func TestAPodThatHasTheSidecarGetsNoPatch(t *testing.T) {
	w := startWebhook(t)
	injected := podOf(`, "graylane.dev/tag": "base"`, `"graylane.dev/status": "injected"`,
		`"volumes": [{"name": "graylane-policy"}, {"name": "graylane-state"}],
		 "initContainers": [{"name": "graylane-redirect"}, {"name": "graylane"}],`)
	if answer := w.ask(pathMutate, "Pod", injected); !answer.Allowed || answer.Patch != nil {
		t.Errorf("got %v and patch %s, want none", answer.Result, answer.Patch)
	}
}

func TestWhatIsNoReviewIsRefused(t *testing.T) {
	w := startWebhook(t)
	tests := []struct {
		body   string
		status int
	}{
		{"hello", http.StatusBadRequest},
		{`{"apiVersion": "admission.k8s.io/v1"}`, http.StatusBadRequest},
		{`{"apiVersion": "admission.k8s.io/v1beta1", "request": {}}`, http.StatusBadRequest},
		{strings.Repeat(" ", maxReview+1), http.StatusRequestEntityTooLarge},
	}
	for _, tt := range tests {
		if status, text := w.post(pathMutate, tt.body); status != tt.status {
			t.Errorf("%.40q: status %d (%s), want %d", tt.body, status, strings.TrimSpace(text), tt.status)
		}
	}
	resp, err := w.client.Get("https://" + host + "/ready")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("/ready: status %d, want 200", resp.StatusCode)
	}
}

func TestServeRunsFromItsCommandLine(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	code, _, errOut := run(t, "", "serve", "--image", "i", "--namespace", "graylane-system")
	if code != exitFailed || !strings.Contains(errOut, "does this run in a pod?") {
		t.Errorf("outside a cluster: exit code %d, %s", code, errOut)
	}
	code, _, errOut = run(t, "", "serve", "--image", "i", "--namespace", "")
	if code != exitUsage || !strings.Contains(errOut, "namespace: required") {
		t.Errorf("without a namespace: exit code %d, %s", code, errOut)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	code, _, errOut = run(t, "", "serve", "--image", "i", "--tls-dir", t.TempDir(), "--listen", l.Addr().String())
	if code != exitFailed || !strings.Contains(errOut, l.Addr().String()) {
		t.Errorf("with a port that is taken: exit code %d, %s", code, errOut)
	}
}
