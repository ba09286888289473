package e2e

import (
	"errors"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"graylane/test/harness"
)

// TestTerminationUnderLoadLosesNoRequest ends one of two pods while its callers are busy; their sidecars go round it.
func TestTerminationUnderLoadLosesNoRequest(t *testing.T) {
	m := newMesh(t, shape{
		services: []service{{name: "users", tags: []string{"base", "base"}, flags: []string{"--grace", "500ms"}}},
	})
	leaving := m.pods[0]
	stop := m.load()
	harness.WaitFor(t, "the pod is busy", func() bool { return leaving.number(t, "/requests") > 100 })
	leaving.sidecar.Signal(t, syscall.SIGTERM)
	if code := leaving.sidecar.Exit(t); code != 0 {
		t.Errorf("exit code after SIGTERM is %d, want 0", code)
	}
	served := m.pods[1].number(t, "/requests")
	harness.WaitFor(t, "the other pod serves alone", func() bool { return m.pods[1].number(t, "/requests") > served+100 })
	stop()
}

// TestTerminationInTheMiddleOfAChainLosesNoRequest ends a pod that calls others, each time on a connection of its own,
// also after its sidecar has been told to stop: its way out is open until the app is gone.
func TestTerminationInTheMiddleOfAChainLosesNoRequest(t *testing.T) {
	orders := service{name: "orders", tags: []string{"base", "base"}, fresh: true, flags: []string{"--grace", "500ms", "--drain", "5m"}}
	m := newMesh(t, shape{services: []service{{name: "front", tags: baseOnly}, orders, {name: "users", tags: baseOnly}}})
	leaving := m.pod("orders", "base")
	outside := m.outside()
	stop := m.load()
	harness.WaitFor(t, "the pod is busy", func() bool { return leaving.number(t, "/requests") > 100 })
	var held sync.WaitGroup
	harness.WaitFor(t, "a request waits in the pod", func() bool {
		held.Go(func() {
			if _, err := outside.send("gate=late&at=orders"); err != nil {
				t.Errorf("a request that was in the pod: %v", err)
			}
		})
		return leaving.number(t, "/waiting?gate=late") > 0
	})

	leaving.sidecar.Signal(t, syscall.SIGTERM)
	harness.WaitFor(t, "the sidecar takes no new connection", func() bool {
		_, err := direct(t, leaving.sidecar.Inbound, "").send("")
		return errors.Is(err, syscall.ECONNREFUSED)
	})
	for _, p := range m.podsOf("orders", "base") {
		resp, err := http.Post("http://"+p.appAddress+"/open?gate=late", "", nil)
		harness.Must(t, err)
		harness.Must(t, resp.Body.Close())
	}
	held.Wait()
	// Nothing is under way in the pod now, but its app has work of its own still.
	for range 20 {
		if answer, err := direct(t, leaving.appAddress, "").send(""); err != nil || answer.at("users") == nil {
			t.Fatalf("a call of the app after its last request: %v", err)
		}
	}
	leaving.app.Kill()
	if code := leaving.sidecar.Exit(t); code != 0 { // long before the drain is over
		t.Errorf("exit code is %d, want 0", code)
	}
	stop()
}

// load has all workers call the mesh until it is told to stop, which waits for the last answer. No call may fail.
func (m *mesh) load() (stop func()) {
	outside := m.outside()
	var ended atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		harness.InParallel(m.t, harness.Workers, func(int) error {
			for !ended.Load() {
				if _, err := outside.send(""); err != nil {
					return err
				}
			}
			return nil
		})
	}()
	stop = func() {
		ended.Store(true)
		<-done
	}
	m.t.Cleanup(stop)
	return stop
}

// TestTerminationFinishesKeepAliveConnections: a caller that is no sidecar, and keeps its connections, loses nothing either.
func TestTerminationFinishesKeepAliveConnections(t *testing.T) {
	m := newMesh(t, shape{services: []service{{name: "users", tags: baseOnly, flags: []string{"--grace", "500ms"}}}})
	p := m.pods[0]
	client := direct(t, p.sidecar.Inbound, "")
	done := make(chan struct{})
	go func() {
		defer close(done)
		harness.InParallel(t, harness.Workers, func(int) error {
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
	harness.WaitFor(t, "the pod is busy", func() bool { return p.number(t, "/requests") > 100 })
	p.sidecar.Signal(t, syscall.SIGTERM)
	if code := p.sidecar.Exit(t); code != 0 {
		t.Errorf("exit code after SIGTERM is %d, want 0", code)
	}
	<-done
}

// TestTerminationWaitsForARequestInFlight: not ready at once, accepting for the grace, and gone after the last reply
// and the app.
func TestTerminationWaitsForARequestInFlight(t *testing.T) {
	m := newMesh(t, shape{services: []service{{name: "users", tags: baseOnly, flags: []string{"--grace", "5s", "--drain", "5m"}}}})
	p := m.pods[0]
	client := direct(t, p.sidecar.Inbound, "")
	answered := make(chan error, 1)
	go func() {
		_, err := client.send("gate=last")
		answered <- err
	}()
	harness.WaitFor(t, "the request is at the app", func() bool { return p.number(t, "/waiting?gate=last") == 1 })

	p.sidecar.Signal(t, syscall.SIGTERM)
	harness.WaitFor(t, "the sidecar is not ready", func() bool {
		status, _ := harness.Page("http://" + p.sidecar.Health + "/ready")
		return status == http.StatusServiceUnavailable
	})
	if _, err := direct(t, p.sidecar.Inbound, "").send(""); err != nil {
		t.Errorf("a new request within the grace fails: %v", err)
	}
	harness.WaitFor(t, "the sidecar takes no new connection", func() bool {
		_, err := direct(t, p.sidecar.Inbound, "").send("")
		return errors.Is(err, syscall.ECONNREFUSED)
	})
	if p.sidecar.Ended() {
		t.Error("the sidecar ended with a request in flight")
	}
	resp, err := http.Post("http://"+p.appAddress+"/open?gate=last", "", nil)
	harness.Must(t, err)
	harness.Must(t, resp.Body.Close())
	if err := <-answered; err != nil {
		t.Errorf("the request in flight fails: %v", err)
	}
	if p.sidecar.Ended() {
		t.Error("the sidecar ended before its app, which may still call out")
	}
	p.app.Kill()
	if code := p.sidecar.Exit(t); code != 0 {
		t.Errorf("exit code after SIGTERM is %d, want 0", code)
	}
}

func TestSecondSidecarNamesTheTakenPort(t *testing.T) {
	path := harness.PolicyFile(t.TempDir() + "/policy.yaml")
	path.Write(t, "apiVersion: graylane.dev/v1\n")
	first := harness.StartSidecar(t, "first", string(path)).WaitReady(t)
	for _, listener := range []struct{ flag, address string }{
		{"--inbound", first.Inbound}, {"--outbound", first.Outbound}, {"--admin", first.Admin}, {"--health", first.Health},
	} {
		t.Run(listener.flag, func(t *testing.T) {
			second := harness.StartSidecar(t, "second", string(path), listener.flag, listener.address)
			if code := second.Exit(t); code != 1 {
				t.Errorf("exit code is %d, want 1", code)
			}
			if got := second.Log.String(); !strings.Contains(got, listener.address) {
				t.Errorf("the error does not name %s: %s", listener.address, got)
			}
		})
	}
}

func TestSettingsFaultsAreReportedAtOnce(t *testing.T) {
	p := harness.Start(t, "sidecar", []string{"GRAYLANE_DRAIN=soon"}, harness.Binary(t), "run",
		"--admin", "0.0.0.0:15000", "--tag", "Not A Tag", "--trace-headers", "X-Nobody", "--log-level", "loud")
	if code := p.Exit(t); code != 2 {
		t.Errorf("exit code is %d, want 2", code)
	}
	want := `sidecar: admin: got "0.0.0.0:15000" from flag --admin, want loopback addresses such as 127.0.0.1:15000, or it is open to everyone
sidecar: drain: got "soon" from environment GRAYLANE_DRAIN, want a duration from 0s to 24h0m0s, such as 30s or 5m
sidecar: log-level: got "loud" from flag --log-level, want debug, info, warn or error
sidecar: policy: required, want the path of the policy file
sidecar: tag: got "Not A Tag" from flag --tag, want 1 to 63 of a-z, 0-9 and -, neither first nor last a -, and none of true, 1, false, 0
sidecar: trace-headers: trace header "X-Nobody": unknown, want one of traceparent, b3, X-B3-TraceId, X-Request-Id, uber-trace-id, sw8, x-datadog-trace-id, X-Amzn-Trace-Id (from flag --trace-headers)
`
	if got := p.Log.String(); got != want {
		t.Errorf("reported:\n%swant:\n%s", got, want)
	}
}
