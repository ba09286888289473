package e2e

import "testing"

// stranger is a source address that the policies of these tests do not trust.
const stranger = "127.0.0.2"

const strangersAreUntrusted = "untrusted: [127.0.0.2/32]\n"

type forgery struct {
	name    string
	headers []string // names and values in turn
}

// forgeries are the ways to claim the tag gray, each under a trace id of its own.
func forgeries() []forgery {
	return []forgery{
		{"tag header", []string{"X-Gray", "gray"}},
		{"tag header in lower case", []string{"x-gray", "true"}},
		{"tag header twice", []string{"X-Gray", "base", "X-Gray", "gray"}},
		{"baggage", []string{"baggage", "a=b,x-gray=gray"}},
		{"tracestate", inTracestate()},
		{"all", append(inTracestate(), "X-Gray", "gray", "baggage", "x-gray=gray")},
	}
}

func inTracestate() []string {
	return []string{"traceparent", traceValue("traceparent", randomID()), "tracestate", "a=b,graylane=gray"}
}

func TestForgedTagOfAnUntrustedPeerChangesNothing(t *testing.T) {
	m := newMesh(t, shape{services: frontAndUsers(service{name: "front", tags: baseOnly}), rules: strangersAreUntrusted + testers})
	front := m.pod("front", "base").sidecar.Inbound
	for _, forged := range forgeries() {
		t.Run(forged.name, func(t *testing.T) {
			checkBelieved(t, direct(t, front, stranger).get("", forged.headers...), "base")
		})
	}
	t.Run("while a trusted peer is believed", func(t *testing.T) {
		checkBelieved(t, direct(t, front, "").get("", "X-Gray", "gray"), "gray")
		checkBelieved(t, direct(t, front, "").get("", "baggage", "x-gray=gray"), "gray")
		checkBelieved(t, direct(t, front, "").get("", inTracestate()...), "gray")
	})
}

func TestForgedTagAtAnEdgeChangesNothing(t *testing.T) {
	for _, edge := range []struct {
		name  string
		front service
	}{
		{"of the policy", service{name: "front", tags: baseOnly, edge: true}},
		{"of the settings", service{name: "front", tags: baseOnly, flags: []string{"--edge"}}},
	} {
		t.Run(edge.name, func(t *testing.T) {
			m := newMesh(t, shape{services: frontAndUsers(edge.front), rules: testers})
			front := direct(t, m.pod("front", "base").sidecar.Inbound, "")
			for _, forged := range forgeries() {
				t.Run(forged.name, func(t *testing.T) {
					checkBelieved(t, front.get("", forged.headers...), "base")
				})
			}
			t.Run("while its rules decide", func(t *testing.T) {
				checkBelieved(t, front.get("", "X-User-Id", "1", "X-Gray", "base"), "gray")
			})
		})
	}
}

func TestRepeatingTheTraceOfAGrayUserMakesNobodyGray(t *testing.T) {
	m := newMesh(t, shape{services: frontAndUsers(service{name: "front", tags: baseOnly}), rules: strangersAreUntrusted + testers})
	front := m.pod("front", "base").sidecar
	trace := []string{"traceparent", traceValue("traceparent", randomID())}

	checkBelieved(t, direct(t, front.Inbound, "").get("", append(trace, "X-User-Id", "1")...), "gray")
	checkBelieved(t, direct(t, front.Inbound, stranger).get("", append(trace, "X-User-Id", "9")...), "base")
	if n := front.Metric(t, "graylane_ledger_conflicts_total"); n != 1 {
		t.Errorf("graylane_ledger_conflicts_total = %v, want 1", n)
	}
}

func frontAndUsers(front service) []service {
	return []service{front, {name: "users", tags: both}}
}

// checkBelieved looks at what the first app was told and at where its call went.
func checkBelieved(t *testing.T, answer *hop, want string) {
	t.Helper()
	if got := answer.Header.Values("X-Gray"); len(got) != 1 || got[0] != want {
		t.Errorf("the app gets X-Gray %q, want %q once", got, want)
	}
	if got := answer.at("users").Tag; got != want {
		t.Errorf("the app's call is served by users-%s, want users-%s", got, want)
	}
}
