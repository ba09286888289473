package e2e

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
)

// TestTerminationUnderLoadLosesNoRequest ends one of two pods while its callers are busy; their sidecars go round it.
func TestTerminationUnderLoadLosesNoRequest(t *testing.T) {
	m := newMesh(t, shape{
		services: []service{{name: "users", tags: []string{"base", "base"}, flags: []string{"--grace", "500ms"}}},
	})
	leaving := m.pods[0]
	outside := m.outside()
	var stop atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		inParallel(t, workers, func(int) error {
			for !stop.Load() {
				if _, err := outside.send(""); err != nil {
					return err
				}
			}
			return nil
		})
	}()
	waitFor(t, "the pod is busy", func() bool { return leaving.number(t, "/requests") > 100 })
	leaving.sidecar.terminate(t)
	if code := leaving.sidecar.exit(t); code != 0 {
		t.Errorf("exit code after SIGTERM is %d, want 0", code)
	}
	served := m.pods[1].number(t, "/requests")
	waitFor(t, "the other pod serves alone", func() bool { return m.pods[1].number(t, "/requests") > served+100 })
	stop.Store(true)
	<-done
}

// TestTerminationFinishesKeepAliveConnections: a caller that is no sidecar, and keeps its connections, loses nothing either.
func TestTerminationFinishesKeepAliveConnections(t *testing.T) {
	m := newMesh(t, shape{services: []service{{name: "users", tags: baseOnly, flags: []string{"--grace", "500ms"}}}})
	p := m.pods[0]
	client := direct(t, p.sidecar.inbound, "")
	done := make(chan struct{})
	go func() {
		defer close(done)
		inParallel(t, workers, func(int) error {
			for {
				_, err := client.send("")
				if errors.Is(err, syscall.ECONNREFUSED) {
					return nil // the listener is gone, no request was sent
				}
				if err != nil {
					return err
				}
			}
		})
	}()
	waitFor(t, "the pod is busy", func() bool { return p.number(t, "/requests") > 100 })
	p.sidecar.terminate(t)
	if code := p.sidecar.exit(t); code != 0 {
		t.Errorf("exit code after SIGTERM is %d, want 0", code)
	}
	<-done
}

// TestTerminationWaitsForARequestInFlight: not ready at once, accepting for the grace, and gone after the last reply.
func TestTerminationWaitsForARequestInFlight(t *testing.T) {
	m := newMesh(t, shape{services: []service{{name: "users", tags: baseOnly, flags: []string{"--grace", "1s", "--drain", "20s"}}}})
	p := m.pods[0]
	client := direct(t, p.sidecar.inbound, "")
	answered := make(chan error, 1)
	go func() {
		_, err := client.send("gate=last")
		answered <- err
	}()
	waitFor(t, "the request is at the app", func() bool { return p.number(t, "/waiting?gate=last") == 1 })

	p.sidecar.terminate(t)
	waitFor(t, "the sidecar is not ready", func() bool {
		status, _ := text("http://" + p.sidecar.health + "/ready")
		return status == http.StatusServiceUnavailable
	})
	if _, err := direct(t, p.sidecar.inbound, "").send(""); err != nil {
		t.Errorf("a new request within the grace fails: %v", err)
	}
	waitFor(t, "the sidecar takes no new connection", func() bool {
		_, err := direct(t, p.sidecar.inbound, "").send("")
		return errors.Is(err, syscall.ECONNREFUSED)
	})
	if p.sidecar.ended() {
		t.Error("the sidecar ended with a request in flight")
	}
	resp, err := http.Post("http://"+p.appAddress+"/open?gate=last", "", nil)
	must(t, err)
	must(t, resp.Body.Close())
	if err := <-answered; err != nil {
		t.Errorf("the request in flight fails: %v", err)
	}
	if code := p.sidecar.exit(t); code != 0 {
		t.Errorf("exit code after SIGTERM is %d, want 0", code)
	}
}

func TestSecondSidecarNamesTheTakenPort(t *testing.T) {
	path := policyFile(t.TempDir() + "/policy.yaml")
	path.write(t, "apiVersion: graylane.dev/v1\n")
	first := startSidecar(t, "first", string(path)).waitReady(t)
	for _, listener := range []struct{ flag, address string }{
		{"--inbound", first.inbound}, {"--outbound", first.outbound}, {"--admin", first.admin}, {"--health", first.health},
	} {
		t.Run(listener.flag, func(t *testing.T) {
			second := startSidecar(t, "second", string(path), listener.flag, listener.address)
			if code := second.exit(t); code != 1 {
				t.Errorf("exit code is %d, want 1", code)
			}
			if got := second.log.String(); !strings.Contains(got, listener.address) {
				t.Errorf("the error does not name %s: %s", listener.address, got)
			}
		})
	}
}

func TestSettingsFaultsAreReportedAtOnce(t *testing.T) {
	p := start(t, "sidecar", []string{"GRAYLANE_DRAIN=soon"}, sidecarBinary(t), "run",
		"--admin", "0.0.0.0:15000", "--tag", "Not A Tag", "--trace-headers", "X-Nobody", "--log-level", "loud")
	if code := p.exit(t); code != 2 {
		t.Errorf("exit code is %d, want 2", code)
	}
	for _, fault := range []string{"policy", "admin", "tag", "trace-headers", "log-level", "drain"} {
		if !strings.Contains(p.log.String(), fault) {
			t.Errorf("the fault of %s is not reported", fault)
		}
	}
	if t.Failed() {
		t.Logf("reported: %s", p.log)
	}
}
