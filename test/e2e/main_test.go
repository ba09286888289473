package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

func TestMain(m *testing.M) {
	if spec := os.Getenv(appEnv); spec != "" {
		fmt.Fprintln(os.Stderr, runApp(spec))
		os.Exit(1)
	}
	if calledAsCurl() {
		if err := runCurl(os.Args[1:], os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(runTests(m))
}

// scratch is the folder of what the whole run shares; runTests makes and removes it.
var scratch string

func runTests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "graylane-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	scratch = dir
	return m.Run()
}

// build gives the path of a sidecar built from this checkout, with the race detector where this binary has it.
var build = sync.OnceValues(func() (string, error) {
	out := filepath.Join(scratch, "sidecar")
	args := []string{"build", "-o", out}
	if raceEnabled {
		args = append(args, "-race")
	}
	cmd := exec.Command("go", append(args, "./cmd/sidecar")...)
	cmd.Dir = repository
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the sidecar: %w\n%s", err, text)
	}
	return out, nil
})

// repository is the root of the checkout, seen from the folder that tests run in.
const repository = "../.."
