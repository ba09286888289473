package harness

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// Repository is the root of the checkout, seen from the folder that the tests of a package under test/ run in.
const Repository = "../.."

// scratch is the folder of what one run shares; Main makes and removes it.
var scratch string

// Main runs the tests of a package and gives the exit code.
func Main(m *testing.M) int {
	dir, err := os.MkdirTemp("", "graylane-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	scratch = dir
	return m.Run()
}

// Scratch is the path of a file in a folder that the whole run shares and that goes with it.
func Scratch(name string) string { return filepath.Join(scratch, name) }

// Binary is the path of a sidecar built from this checkout, with the race detector where the tests have it.
func Binary(t testing.TB) string {
	t.Helper()
	path, err := build()
	Must(t, err)
	return path
}

var build = sync.OnceValues(func() (string, error) {
	out := Scratch("sidecar")
	args := []string{"build", "-o", out}
	if RaceEnabled {
		args = append(args, "-race")
	}
	cmd := exec.Command("go", append(args, "./cmd/sidecar")...)
	cmd.Dir = Repository
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the sidecar: %w\n%s", err, text)
	}
	return out, nil
})

// Must ends the test when something failed that the test needs.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
