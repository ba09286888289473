//go:build cluster

package cluster_test

import (
	"bufio"
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"graylane/test/harness"
)

// forward is `kubectl port-forward` to a free port, until the test ends. It gives the address here.
func (k *kube) forward(t testing.TB, namespace, to string, port int) string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cmd := exec.CommandContext(ctx, k.kubectl, "-n", namespace, "port-forward", to, fmt.Sprintf(":%d", port))
	out, err := cmd.StdoutPipe()
	harness.Must(t, err)
	harness.Must(t, cmd.Start())
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait() // it was killed
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	_, rest, found := strings.Cut(line, "Forwarding from ")
	address, _, _ := strings.Cut(rest, " ")
	if err != nil || !found {
		t.Fatalf("kubectl port-forward says %q, want its address: %v", line, err)
	}
	return address
}
