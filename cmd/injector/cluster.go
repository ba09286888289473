package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// cluster talks to the API server, with the few calls that the injector needs.
type cluster struct {
	base   string // https://host:port
	tokens string // file with the token, which the kubelet replaces; "" for none
	client *http.Client
}

// serviceAccount is where the kubelet puts what a pod needs to talk to the API server.
const serviceAccount = "/var/run/secrets/kubernetes.io/serviceaccount"

// callTimeout is for one call; the API server's own limit is a minute.
const callTimeout = 15 * time.Second

// inCluster is the API server of the cluster that this process runs in.
func inCluster() (*cluster, error) {
	host, port := os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT")
	if host == "" || port == "" {
		return nil, fmt.Errorf("no KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT: does this run in a pod?")
	}
	text, err := os.ReadFile(filepath.Join(serviceAccount, "ca.crt"))
	if err != nil {
		return nil, fmt.Errorf("read the authority of the API server: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s/ca.crt has no certificate", serviceAccount)
	}
	return &cluster{
		base:   "https://" + net.JoinHostPort(host, port),
		tokens: filepath.Join(serviceAccount, "token"),
		client: &http.Client{Timeout: callTimeout, Transport: &http.Transport{
			TLSClientConfig:   &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
			ForceAttemptHTTP2: true,
		}},
	}, nil
}

// statusError is a refusal of the API server.
type statusError struct {
	code    int
	message string
}

func (e *statusError) Error() string { return fmt.Sprintf("status %d: %s", e.code, e.message) }

// call sends body, if there is one, and reads the reply into into, if there is one.
func (c *cluster) call(ctx context.Context, method, path, contentType string, body, into any) error {
	text, err := c.send(ctx, method, path, contentType, body)
	if err == nil && into != nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	return nil
}

func (c *cluster) send(ctx context.Context, method, path, contentType string, body any) ([]byte, error) {
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		content = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, content)
	if err != nil {
		return nil, err
	}
	if body != nil {
		req.Header.Set("Content-Type", contentType)
	}
	if c.tokens != "" {
		token, err := os.ReadFile(c.tokens)
		if err != nil {
			return nil, fmt.Errorf("read the token: %w", err)
		}
		req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	}
	resp, err := c.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode/100 != 2 {
		var status struct{ Message string }
		if json.Unmarshal(text, &status) != nil || status.Message == "" {
			status.Message = strings.TrimSpace(string(text))
		}
		return nil, &statusError{resp.StatusCode, status.Message}
	}
	return text, nil
}

// version is that of the API server: "1.34".
func (c *cluster) version(ctx context.Context) (string, error) {
	var v struct{ Major, Minor string }
	if err := c.call(ctx, http.MethodGet, "/version", "", nil, &v); err != nil {
		return "", err
	}
	return v.Major + "." + v.Minor, nil
}
