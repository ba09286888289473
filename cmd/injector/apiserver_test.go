package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
)

const token = "the-token-of-the-pod"

// apiServer has the one Secret and the two webhook configurations that a keeper works with.
type apiServer struct {
	t *testing.T

	mu         sync.Mutex
	secret     corev1.Secret
	mutating   admissionregistrationv1.MutatingWebhookConfiguration
	validating admissionregistrationv1.ValidatingWebhookConfiguration
	writes     int // of any object
	conflicts  int
	before     map[string]func() // by method of HTTP: called without the lock, once
}

// startAPIServer gives the server, and a cluster that talks to it.
func startAPIServer(t *testing.T) (*apiServer, *cluster) {
	t.Helper()
	a := &apiServer{t: t}
	a.secret.ResourceVersion, a.mutating.ResourceVersion, a.validating.ResourceVersion = "1", "1", "1"
	a.mutating.Webhooks = make([]admissionregistrationv1.MutatingWebhook, 2)
	a.validating.Webhooks = make([]admissionregistrationv1.ValidatingWebhook, 2)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /version", func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, `{"major": "1", "minor": "34"}`)
	})
	mux.HandleFunc("/api/v1/namespaces/graylane-system/secrets/graylane-injector-tls", a.serveSecret)
	mux.HandleFunc("/apis/admissionregistration.k8s.io/v1/{kind}/graylane-injector", a.serveConfiguration)
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+token {
			http.Error(w, `{"message": "who are you"}`, http.StatusUnauthorized)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	tokens := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(tokens, []byte(token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return a, &cluster{base: server.URL, tokens: tokens, client: server.Client()}
}

// overtake lets somebody else be faster than this request.
func (a *apiServer) overtake(method string) {
	a.mu.Lock()
	before := a.before[method]
	delete(a.before, method)
	a.mu.Unlock()
	if before != nil {
		before()
	}
}

func (a *apiServer) serveSecret(w http.ResponseWriter, r *http.Request) {
	a.overtake(r.Method)
	a.mu.Lock()
	defer a.mu.Unlock()
	if r.Method == http.MethodGet {
		json.NewEncoder(w).Encode(a.secret)
		return
	}
	var put corev1.Secret
	if err := json.NewDecoder(r.Body).Decode(&put); err != nil {
		a.t.Error(err)
	}
	if put.ResourceVersion != a.secret.ResourceVersion {
		a.conflicts++
		http.Error(w, `{"message": "the object has been modified"}`, http.StatusConflict)
		return
	}
	put.ResourceVersion = next(put.ResourceVersion)
	a.secret = put
	a.writes++
}

func next(version string) string {
	n, _ := strconv.Atoi(version)
	return strconv.Itoa(n + 1)
}

func (a *apiServer) serveConfiguration(w http.ResponseWriter, r *http.Request) {
	a.overtake(r.Method)
	a.mu.Lock()
	defer a.mu.Unlock()
	version := &a.mutating.ResourceVersion
	var object any = &a.mutating
	bundle := func(i int) *[]byte { return &a.mutating.Webhooks[i].ClientConfig.CABundle }
	if r.PathValue("kind") == "validatingwebhookconfigurations" {
		version, object = &a.validating.ResourceVersion, &a.validating
		bundle = func(i int) *[]byte { return &a.validating.Webhooks[i].ClientConfig.CABundle }
	}
	if r.Method == http.MethodGet {
		json.NewEncoder(w).Encode(object)
		return
	}
	if got := r.Header.Get("Content-Type"); r.Method != http.MethodPatch || got != "application/json-patch+json" {
		a.t.Errorf("%s with %s, want a JSON patch", r.Method, got)
	}
	var patch []struct {
		Op, Path string
		Value    json.RawMessage
	}
	if err := json.NewDecoder(r.Body).Decode(&patch); err != nil {
		a.t.Error(err)
	}
	if len(patch) == 0 || patch[0].Op != "replace" || string(patch[0].Value) != strconv.Quote(*version) {
		a.conflicts++
		http.Error(w, `{"message": "the object has been modified"}`, http.StatusConflict)
		return
	}
	for _, op := range patch[1:] {
		at, err := strconv.Atoi(strings.Split(op.Path, "/")[2])
		if err != nil || op.Op != "add" || !strings.HasSuffix(op.Path, "/clientConfig/caBundle") {
			a.t.Errorf("unexpected operation %s %s", op.Op, op.Path)
			continue
		}
		if err := json.Unmarshal(op.Value, bundle(at)); err != nil {
			a.t.Error(err)
		}
	}
	*version = next(*version)
	a.writes++
}

// authorities are those that every webhook has; the test fails where they differ.
func (a *apiServer) authorities() []byte {
	a.mu.Lock()
	defer a.mu.Unlock()
	first := a.mutating.Webhooks[0].ClientConfig.CABundle
	for _, other := range [][]byte{
		a.mutating.Webhooks[1].ClientConfig.CABundle,
		a.validating.Webhooks[0].ClientConfig.CABundle,
		a.validating.Webhooks[1].ClientConfig.CABundle,
	} {
		if string(other) != string(first) {
			a.t.Error("the webhooks have different authorities")
		}
	}
	return first
}
