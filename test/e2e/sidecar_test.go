package e2e

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// sidecar is one `sidecar run` with listeners of its own on loopback.
type sidecar struct {
	*process
	inbound, outbound, admin, health string
}

// startSidecar starts a sidecar that stops without delay on SIGTERM; flags come last and win.
// It may not be ready yet when this returns.
func startSidecar(t testing.TB, name, policy string, flags ...string) *sidecar {
	t.Helper()
	s := &sidecar{inbound: freeAddress(t), outbound: freeAddress(t), admin: freeAddress(t), health: freeAddress(t)}
	s.process = s.run(t, name, policy, flags)
	return s
}

func (s *sidecar) run(t testing.TB, name, policy string, flags []string) *process {
	t.Helper()
	args := slices.Concat([]string{"run", "--policy", policy,
		"--inbound", s.inbound, "--outbound", s.outbound, "--admin", s.admin, "--health", s.health,
		"--grace", "0s", "--drain", "5s"}, flags)
	return start(t, name, nil, sidecarBinary(t), args...)
}

func sidecarBinary(t testing.TB) string {
	t.Helper()
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func (s *sidecar) waitReady(t testing.TB) *sidecar {
	t.Helper()
	waitFor(t, s.name+" is ready", func() bool {
		if s.ended() {
			t.Fatalf("%s ended before it was ready", s.name)
		}
		status, _ := text("http://" + s.health + "/ready")
		return status == http.StatusOK
	})
	return s
}

// through is a client of this sidecar's app: every host is reached by way of its outbound listener.
func (s *sidecar) through(t testing.TB, host string) caller {
	client := proxied(s.outbound)
	t.Cleanup(client.CloseIdleConnections)
	return caller{t, "http://" + host, client}
}

// policyInForce is what the admin port says of the policy.
type policyInForce struct {
	Digest  string `json:"digest"`
	Valid   bool   `json:"valid"`
	Enabled bool   `json:"enabled"`
}

// policy is zero while no policy is in force.
func (s *sidecar) policy(t testing.TB) policyInForce {
	t.Helper()
	var p policyInForce
	status, body := text("http://" + s.admin + "/policy")
	if status != http.StatusOK {
		return p
	}
	if err := json.Unmarshal([]byte(body), &p); err != nil {
		t.Fatalf("/policy of %s: %v in %s", s.name, err, body)
	}
	return p
}

// metric sums the samples of one metric whose labels hold all the given ones, each written as `name="value"`.
func (s *sidecar) metric(t testing.TB, name string, labels ...string) float64 {
	t.Helper()
	_, body := text("http://" + s.health + "/metrics")
	sum := 0.0
	for line := range strings.Lines(body) {
		rest, found := strings.CutPrefix(line, name)
		if !found || (rest[0] != '{' && rest[0] != ' ') {
			continue
		}
		end := strings.LastIndexByte(rest, ' ')
		set, value := rest[:end], strings.TrimSpace(rest[end:])
		if slices.ContainsFunc(labels, func(l string) bool { return !strings.Contains(set, l) }) {
			continue
		}
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			t.Fatalf("metric line %q: %v", line, err)
		}
		sum += n
	}
	return sum
}
