package harness

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Sidecar is one `sidecar run` with listeners of its own on loopback.
type Sidecar struct {
	*Process
	Inbound, Outbound, Admin, Health string // addresses
}

// StartSidecar starts a sidecar that stops without delay on SIGTERM; flags come last and win.
// It may not be ready yet when this returns.
func StartSidecar(t testing.TB, name, policy string, flags ...string) *Sidecar {
	t.Helper()
	s := &Sidecar{Inbound: FreeAddress(t), Outbound: FreeAddress(t), Admin: FreeAddress(t), Health: FreeAddress(t)}
	s.Process = s.run(t, name, policy, flags)
	return s
}

func (s *Sidecar) run(t testing.TB, name, policy string, flags []string) *Process {
	t.Helper()
	args := slices.Concat([]string{"run", "--policy", policy,
		"--inbound", s.Inbound, "--outbound", s.Outbound, "--admin", s.Admin, "--health", s.Health,
		"--grace", "0s", "--drain", "5s"}, flags)
	return Start(t, name, nil, Binary(t), args...)
}

// WaitReady returns when the sidecar is ready.
func (s *Sidecar) WaitReady(t testing.TB) *Sidecar {
	t.Helper()
	WaitFor(t, s.Name+" is ready", func() bool {
		if s.Ended() {
			t.Fatalf("%s ended before it was ready", s.Name)
		}
		status, _ := Page("http://" + s.Health + "/ready")
		return status == http.StatusOK
	})
	return s
}

// PolicyInForce is what the admin port says of the policy.
type PolicyInForce struct {
	Digest  string `json:"digest"`
	Valid   bool   `json:"valid"`
	Enabled bool   `json:"enabled"`
}

// Policy is zero while no policy is in force.
func (s *Sidecar) Policy(t testing.TB) PolicyInForce {
	t.Helper()
	var p PolicyInForce
	status, body := Page("http://" + s.Admin + "/policy")
	if status != http.StatusOK {
		return p
	}
	if err := json.Unmarshal([]byte(body), &p); err != nil {
		t.Fatalf("/policy of %s: %v in %s", s.Name, err, body)
	}
	return p
}

// Metric sums the samples of one metric whose labels hold all the given ones, each written as `name="value"`.
func (s *Sidecar) Metric(t testing.TB, name string, labels ...string) float64 {
	t.Helper()
	_, page := Page("http://" + s.Health + "/metrics")
	return Sum(t, page, name, labels...)
}

// Sum is Metric of a page of metrics.
func Sum(t testing.TB, page, name string, labels ...string) float64 {
	t.Helper()
	sum := 0.0
	for line := range strings.Lines(page) {
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
