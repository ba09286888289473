package harness

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
)

// Repository is the root of the checkout, seen from the folder that the tests of a package under test/ run in.
const Repository = "../.."

// scratch is the folder of what one run shares; Main makes and removes it.
var scratch string

// Main runs the tests of a package and gives the exit code. All that they keep in temporary folders goes with them, also
// when they are stopped by SIGINT or SIGTERM.
func Main(m *testing.M) int {
	dir, err := os.MkdirTemp("", "graylane-test-")
	if err == nil {
		err = errors.Join(os.Chmod(dir, os.ModeSticky|0o777), os.Setenv("TMPDIR", dir)) // for other users too, as /tmp is
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	scratch = dir
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-stop
		_ = os.RemoveAll(dir) // no more can be done
		os.Exit(1)
	}()
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
