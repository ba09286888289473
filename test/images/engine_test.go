//go:build images

package images_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"graylane/test/harness"
)

// engine is the Docker engine that the command docker finds. What a test starts there ends with the test.
type engine struct{ t *testing.T }

// The network of a test, and who is where in it. Names are found by Docker's own name server.
const (
	network      = "graylane-images"
	subnet       = "172.29.78.0/24"
	addressFront = "172.29.78.11" // of the pod
	addressEntry = "172.29.78.12" // of its caller
	addressUsers = "172.29.78.21" // of what it calls
	addressGray  = "172.29.78.22"
)

func newEngine(t *testing.T) engine {
	t.Helper()
	e := engine{t}
	e.must("network", "create", "--subnet", subnet, network)
	t.Cleanup(func() { e.must("network", "rm", network) })
	return e
}

// image is the one that .ci/images has built.
func image(name string) string {
	return "graylane/" + name + ":" + os.Getenv("GRAYLANE_VERSION")
}

// run runs one command of docker's and gives what it printed.
func (e engine) run(args ...string) (string, error) {
	var out, errOut bytes.Buffer
	cmd := exec.Command("docker", args...)
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("docker %s: %w\n%s", strings.Join(args, " "), err, errOut.Bytes())
	}
	return strings.TrimSpace(out.String()), nil
}

func (e engine) must(args ...string) string {
	e.t.Helper()
	out, err := e.run(args...)
	harness.Must(e.t, err)
	return out
}

// start starts a container that goes on; when the test fails, it prints what the container said.
func (e engine) start(name string, flags []string, image string, args ...string) {
	e.t.Helper()
	e.must(append(append([]string{"run", "--detach", "--name", name}, flags...), append([]string{image}, args...)...)...)
	e.t.Cleanup(func() {
		if e.t.Failed() {
			logs, err := exec.Command("docker", "logs", name).CombinedOutput()
			e.t.Logf("%s (%v):\n%s", name, err, logs)
		}
		e.must("rm", "--force", name)
	})
}

// at are the flags that put a container at an address, and make it known by a name.
func at(address, name string) []string {
	return []string{"--network", network, "--ip", address, "--network-alias", name}
}
