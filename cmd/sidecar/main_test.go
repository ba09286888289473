package main

import (
	"os"
	"strings"
	"testing"
)

// TestMain takes away what would count as settings of the sidecars of these tests.
func TestMain(m *testing.M) {
	for _, entry := range os.Environ() {
		if name, _, _ := strings.Cut(entry, "="); strings.HasPrefix(name, envPrefix) {
			_ = os.Unsetenv(name) // it fails for names that no variable can have
		}
	}
	os.Exit(m.Run())
}
