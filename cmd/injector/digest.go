package main

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"

	"graylane/internal/inject"
	"graylane/pkg/policy"
)

// digest is the one that sidecars show of the policy in a ConfigMap: of it and the lists that it names, as they lie beside
// each other in a pod. A policy that they refuse has that of its text, which none of them shows.
func digest(c *corev1.ConfigMap) (string, error) {
	dir, err := os.MkdirTemp("", "graylane-policy-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	files := maps.Clone(c.BinaryData)
	if files == nil {
		files = make(map[string][]byte)
	}
	for name, text := range c.Data {
		files[name] = []byte(text)
	}
	for name, text := range files {
		if filepath.Base(name) != name {
			continue // Kubernetes takes no such key
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			return "", err
		}
	}
	p, err := policy.Load(filepath.Join(dir, inject.PolicyFile))
	if err != nil {
		return fmt.Sprintf("%x", sha256.Sum256(files[inject.PolicyFile]))[:12], nil
	}
	return p.Digest, nil
}
