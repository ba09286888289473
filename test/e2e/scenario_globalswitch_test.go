package e2e

import (
	"strings"
	"testing"

	"graylane/test/harness"
)

// TestScenarioGlobalSwitch: a chain whose gray checks are switched off and on while it runs.
func TestScenarioGlobalSwitch(t *testing.T) {
	m := newMesh(t, shape{
		services: shop(both, baseOnly, both), // orders announces no beta: gray calls go to the normal one
		rules:    testers,
		flags:    []string{"--access-log", "--log-format", "json"},
	})
	user := m.outside()
	const gray, base = "front-gray orders-base users-gray", "front-base orders-base users-base"
	expect := func(when, id, want string) *hop {
		t.Helper()
		answer := user.get("", "X-User-Id", id)
		if got := answer.path(); got != want {
			t.Errorf("%s, user %s is served by %q, want %q", when, id, got, want)
		}
		return answer
	}

	first := expect("at first", "1", gray)
	expect("at first", "7", base)
	checkOneTrace(t, first)
	checkAccessLogs(t, m, first)

	before := m.requests("gray")
	m.change("enabled: false\n" + testers)
	answer := expect("switched off", "1", base)
	expect("switched off", "7", base)
	for h := answer; h != nil; h = h.Next {
		if got := h.Header.Get("X-Gray"); got != "base" {
			t.Errorf("switched off, %s gets X-Gray %q, want base", h.Service, got)
		}
	}
	if got := m.requests("gray"); got != before {
		t.Errorf("switched off, the beta pods served %d requests", got-before)
	}

	m.change("enabled: true\n" + testers)
	expect("switched on again", "1", gray)
	expect("switched on again", "7", base)
}

// checkOneTrace wants the flag and one trace id, made because the caller brought none, at every hop.
func checkOneTrace(t *testing.T, first *hop) {
	t.Helper()
	id := traceID(first)
	for h := first; h != nil; h = h.Next {
		if got := h.Header.Get("X-Gray"); got != "gray" {
			t.Errorf("%s gets X-Gray %q, want gray", h.Service, got)
		}
		if got := traceID(h); got != id || len(got) != 32 {
			t.Errorf("%s gets the trace id %q, want 32 digits as front got: %q", h.Service, got, id)
		}
	}
}

// checkAccessLogs wants the trace id and the tag of a request in the log of every sidecar that it passed.
func checkAccessLogs(t *testing.T, m *mesh, first *hop) {
	t.Helper()
	passed := []*harness.Sidecar{m.entry}
	for h := first; h != nil; h = h.Next {
		passed = append(passed, m.pod(h.Service, h.Tag).sidecar)
	}
	for _, s := range passed {
		harness.WaitFor(t, s.Name+" logs the request with its tag and trace id", func() bool {
			for line := range strings.Lines(s.Log.String()) {
				if strings.Contains(line, traceID(first)) && strings.Contains(line, `"tag":"gray"`) {
					return true
				}
			}
			return false
		})
	}
}

// traceID is the id inside the traceparent that an app got.
func traceID(h *hop) string {
	parts := strings.Split(h.Header.Get("traceparent"), "-")
	if len(parts) != 4 {
		return ""
	}
	return parts[1]
}
