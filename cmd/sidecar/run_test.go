package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"graylane/internal/discovery"
	"graylane/internal/http1"
	"graylane/internal/listen"
	"graylane/internal/upstream"
	"graylane/pkg/policy"
	"graylane/test/harness"
)

// running is a sidecar in this process, with listeners of its own on loopback.
type running struct {
	*sidecar
	stop  context.CancelFunc // as SIGTERM does
	ended chan error
	log   *lines
}

// start runs a sidecar with the policy until the test ends.
func start(t *testing.T, policy string, flags ...string) *running {
	t.Helper()
	s := mustLoad(t, append([]string{
		"--policy=" + policy, "--inbound=127.0.0.1:0", "--outbound=127.0.0.1:0", "--gateway=127.0.0.1:0",
		"--admin=127.0.0.1:0", "--health=127.0.0.1:0", "--grace=0s", "--drain=0s", "--log-format=json",
	}, flags...)...)
	r := &running{ended: make(chan error, 1), log: &lines{}}
	sc, err := newSidecar(t.Context(), s, newLogger(r.log, s))
	if err != nil {
		t.Fatal(err)
	}
	r.sidecar = sc
	ctx, stop := context.WithCancel(context.Background())
	r.stop = stop
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.ended <- sc.run(ctx)
	}()
	t.Cleanup(func() { stop(); <-done })
	return r
}

// lines is a log that can be read while it is written.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

// with gives the records of the message.
func (l *lines) with(t *testing.T, msg string) []map[string]any {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	var found []map[string]any
	for line := range strings.Lines(l.buf.String()) {
		var record map[string]any
		if err := json.Unmarshal([]byte(line), &record); err != nil {
			t.Fatalf("log line %q: %v", line, err)
		}
		if record[slog.MessageKey] == msg {
			found = append(found, record)
		}
	}
	return found
}

func TestRunEndsWithAnErrorWhereAListenerFails(t *testing.T) {
	for name, set := range map[string]func(*sidecar) *listen.Set{
		"inbound":  func(sc *sidecar) *listen.Set { return sc.inbound.set },
		"outbound": func(sc *sidecar) *listen.Set { return sc.outbound.set },
		"gateway":  func(sc *sidecar) *listen.Set { return sc.gateway.set },
		"admin":    func(sc *sidecar) *listen.Set { return sc.admin },
		"health":   func(sc *sidecar) *listen.Set { return sc.health },
	} {
		t.Run(name, func(t *testing.T) {
			var flags []string // addresses that nobody else takes when they are free again
			for _, listener := range []string{"inbound", "outbound", "gateway", "admin", "health"} {
				flags = append(flags, "--"+listener+"="+harness.FreeAddress(t))
			}
			r := start(t, file(t, "policy.yaml", calmPolicy), flags...)
			harness.WaitFor(t, "it has started", func() bool { return len(r.log.with(t, "listening")) == 1 })
			failing := set(r.sidecar).Listeners()[0]
			failing.Close()
			select {
			case err := <-r.ended:
				if err == nil || !strings.Contains(err.Error(), failing.Addr().String()) {
					t.Errorf("run ended with %v, want an error that names %s", err, failing.Addr())
				}
			case <-time.After(20 * time.Second):
				t.Fatal("run goes on without the listener")
			}
			for _, other := range []*listen.Set{r.inbound.set, r.outbound.set, r.gateway.set, r.admin, r.health} {
				if conn, err := net.Dial("tcp", other.Addrs()[0].String()); err == nil {
					conn.Close()
					t.Errorf("%s still listens", other.Addrs()[0])
				}
			}
		})
	}
}

func TestRunEndsWithoutAnErrorWhenItIsToldTo(t *testing.T) {
	r := start(t, file(t, "policy.yaml", calmPolicy))
	harness.WaitFor(t, "it has started", func() bool { return len(r.log.with(t, "listening")) == 1 })
	r.stop()
	if err := <-r.ended; err != nil {
		t.Errorf("run ended with %v, want nil", err)
	}
}

func TestRunEndsInTimeWhateverIsInPlaceOfThePolicy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "policy.yaml")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	r := start(t, path)
	harness.WaitFor(t, "the pipe is refused", func() bool { return len(r.log.with(t, "bad policy, and no other is in force")) == 1 })
	r.stop()
	select {
	case err := <-r.ended:
		if err != nil {
			t.Errorf("run ended with %v, want nil", err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("run does not end")
	}
}

// What the watch is at cannot be interrupted where the volume hangs.
func TestRunEndsWhileTheWatchHangs(t *testing.T) {
	r := start(t, file(t, "policy.yaml", calmPolicy))
	harness.WaitFor(t, "it has started", func() bool { return len(r.log.with(t, "listening")) == 1 })
	release := make(chan struct{})
	defer close(release)
	found := r.finder.Begin(context.Background())
	found.Follow(hanging(release), r.table.Begin().Group(upstream.Version{Service: "hung", Tag: "gray"}))
	found.Commit()
	r.stop()
	select {
	case err := <-r.ended:
		if err != nil {
			t.Errorf("run ended with %v, want nil", err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("run does not end")
	}
}

// hanging is a source that looks for no end of its context.
type hanging chan struct{}

func (h hanging) String() string                                             { return "hanging" }
func (h hanging) Run(_ context.Context, _ discovery.Sink, _ <-chan struct{}) { <-h }

func TestTheStartLogTellsAddressesIdentityAndPolicy(t *testing.T) {
	good := file(t, "policy.yaml", calmPolicy)
	compiled, err := policy.Load(good)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, path, digest string }{
		{"a good policy", good, compiled.Digest},
		{"a bad policy", file(t, "policy.yaml", brokenPolicy), "none"},
		{"no policy", filepath.Join(t.TempDir(), "policy.yaml"), "none"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := start(t, c.path, "--service=users", "--tag=gray", "--zone=eu-1", "--app=127.0.0.1:9999")
			harness.WaitFor(t, "it has started", func() bool { return len(r.log.with(t, "listening")) > 0 })
			records := r.log.with(t, "listening")
			if len(records) != 1 {
				t.Fatalf("got %d start lines, want one", len(records))
			}
			for key, want := range map[string]string{
				"inbound": r.inbound.set.Addrs()[0].String(), "outbound": r.outbound.set.Addrs()[0].String(), "gateway": r.gateway.set.Addrs()[0].String(),
				"admin": r.admin.Addrs()[0].String(), "health": r.health.Addrs()[0].String(),
				"app": "127.0.0.1:9999", "service": "users", "tag": "gray", "zone": "eu-1",
				"policy": c.path, "digest": c.digest,
			} {
				if got := records[0][key]; got != want {
					t.Errorf("%s: got %v, want %v", key, got, want)
				}
			}
		})
	}
}

func TestConnectionsAndPanicsAreShown(t *testing.T) {
	r := start(t, file(t, "policy.yaml", calmPolicy))
	conn, err := net.Dial("tcp", r.inbound.set.Addrs()[0].String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, want := range []string{
		`graylane_connections{direction="inbound"} 1`,
		`graylane_connections{direction="outbound"} 0`,
		`graylane_connections{direction="gateway"} 0`,
		`graylane_connection_panics_total{direction="inbound"} 0`,
		`graylane_connection_panics_total{direction="outbound"} 0`,
		`graylane_connection_panics_total{direction="gateway"} 0`,
	} {
		harness.WaitFor(t, want, func() bool { return strings.Contains(page(t, r.health, "/metrics"), want+"\n") })
	}
}

// page reads a page of the operators' ports; "" while there is none.
func page(t *testing.T, set *listen.Set, path string) string {
	t.Helper()
	resp, err := http.Get("http://" + set.Addrs()[0].String() + path)
	if err != nil {
		return ""
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func TestFindingTheAppOfACallAllocatesNothing(t *testing.T) {
	app := apps("127.0.0.1:8080", http1.OriginConfig{})
	for _, dst := range []netip.AddrPort{{}, netip.MustParseAddrPort("10.0.0.7:8081"), netip.MustParseAddrPort("[fd00::7]:8081")} {
		app(dst)
		if got := testing.AllocsPerRun(100, func() { app(dst) }); got != 0 {
			t.Errorf("%v: got %v allocations, want 0", dst, got)
		}
	}
}
