package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// services are those of the shop, in the order of the chain.
var services = []string{"front", "orders", "users"}

// shop is the demo's processes: an entry sidecar, and a base and a gray pod of every service.
type shop struct {
	portBase int
	dir      string
	pods     []*pod // the entry first

	self  string      // this binary, which is the app too
	ended func(error) // is called when a process ends that nobody stopped
}

func newShop(portBase int, dir string) *shop {
	s := &shop{portBase: portBase, dir: dir, pods: []*pod{{ports: portBase}}}
	for _, service := range services {
		for _, tag := range []string{"base", "gray"} {
			s.pods = append(s.pods, &pod{service: service, tag: tag, ports: portBase + portsPerPod*len(s.pods)})
		}
	}
	return s
}

// visitor comes by the entry.
func (s *shop) visitor() visitor {
	return visitor{client: proxyClient(s.entry().address(outboundPort)), url: "http://" + services[0] + "/"}
}

func (s *shop) entry() *pod            { return s.pods[0] }
func (s *shop) policyPath() string     { return filepath.Join(s.dir, "policy.yaml") }
func (s *shop) logs() string           { return filepath.Join(s.dir, "logs") }
func (s *shop) sidecarPath() string    { return filepath.Join(s.dir, "sidecar") }
func (s *shop) log(name string) string { return filepath.Join(s.logs(), name+".log") }

func (s *shop) pod(name string) *pod {
	for _, p := range s.pods {
		if p.name() == name {
			return p
		}
	}
	return nil
}

// start builds the sidecar, starts every process and returns when all of them serve.
func (s *shop) start(ctx context.Context, ended context.CancelCauseFunc, out io.Writer) error {
	var err error
	if s.self, err = os.Executable(); err != nil {
		return fmt.Errorf("find the demo's own binary: %w", err)
	}
	s.ended = ended
	if err := s.prepare(); err != nil {
		return err
	}
	if err := progress(out, "building the sidecar", func() error { return s.build(ctx) }); err != nil {
		return err
	}
	what := fmt.Sprintf("starting 7 sidecars and 6 apps on 127.0.0.1:%d-%d", s.portBase, s.portBase+portsUsed-1)
	return progress(out, what, func() error {
		for _, p := range s.pods {
			if err := s.startPod(ctx, p); err != nil {
				return err
			}
		}
		for _, p := range s.pods {
			if err := p.waitReady(ctx); err != nil {
				return err
			}
		}
		return nil
	})
}

// prepare makes the folder and the first policy; logs of an earlier demo go.
func (s *shop) prepare() error {
	if err := os.RemoveAll(s.logs()); err != nil {
		return fmt.Errorf("remove old logs: %w", err)
	}
	if err := os.MkdirAll(s.logs(), 0o755); err != nil {
		return fmt.Errorf("make a folder for the demo, --dir names another: %w", err)
	}
	return s.write(s.policy(firstRules))
}

func (s *shop) build(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-o", s.sidecarPath(), "graylane/cmd/sidecar")
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w (the demo runs inside the checkout only)\n%s", err, text)
	}
	return nil
}

// startPod starts the app first: nothing but the demo tells callers to keep away from a sidecar whose app is not up.
func (s *shop) startPod(ctx context.Context, p *pod) error {
	if err := s.startApp(ctx, p); err != nil {
		return err
	}
	var err error
	p.sidecar, err = startChild(p.name()+" sidecar", s.log(p.name()+"-sidecar"), s.ended, s.sidecarPath(), p.sidecarArgs(s.policyPath())...)
	return err
}

func (s *shop) startApp(ctx context.Context, p *pod) error {
	if p.isEntry() {
		return nil
	}
	var err error
	p.app, err = startChild(p.name()+" app", s.log(p.name()+"-app"), s.ended, s.self, p.appArgs(after(p.service))...)
	if err != nil {
		return err
	}
	return p.wait(ctx, func() bool { return accepts(p.address(appPort)) })
}

// after is the service that a service calls; none: it is the last.
func after(service string) string {
	for i, name := range services[:len(services)-1] {
		if name == service {
			return services[i+1]
		}
	}
	return ""
}

// stopPod takes a pod down as a cluster does: the sidecar drains while the app still serves.
func (p *pod) stopPod() {
	p.sidecar.terminate()
	p.app.terminate()
}

// stop ends everything at once; nothing in a demo is worth waiting for.
func (s *shop) stop() {
	for _, p := range s.pods {
		p.sidecar.kill()
		p.app.kill()
	}
}

// startPatience is how long a process may take until it serves: far more than any machine needs.
const startPatience = 30 * time.Second

// waitReady returns when the sidecar is ready.
func (p *pod) waitReady(ctx context.Context) error {
	return p.wait(ctx, func() bool { return answers(ctx, "http://"+p.address(healthPort)+"/ready") })
}

// wait waits for a condition of a start.
func (p *pod) wait(ctx context.Context, holds func() bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startPatience, fmt.Errorf("%s is not ready after %v", p.name(), startPatience))
	defer cancel()
	return wait(ctx, holds)
}

func answers(ctx context.Context, url string) bool {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	_, err = fetch(http.DefaultClient, r)
	return err == nil
}

func accepts(address string) bool {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return false
	}
	_ = c.Close()
	return true
}

// wait looks at a condition until it holds; the error is the cause of the end of ctx.
func wait(ctx context.Context, holds func() bool) error {
	tick := time.NewTicker(20 * time.Millisecond) // short beside all that is waited for
	defer tick.Stop()
	for !holds() {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
	return nil
}

// progress says what is being done, with a dot for every second, and how long it took.
func progress(out io.Writer, what string, do func() error) error {
	fmt.Fprint(out, what, " ")
	begin := time.Now()
	done := make(chan error, 1)
	go func() { done <- do() }()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case err := <-done:
			if err != nil {
				fmt.Fprintln(out, "failed")
				return err
			}
			fmt.Fprintf(out, "%.1f s\n", time.Since(begin).Seconds())
			return nil
		case <-tick.C:
			fmt.Fprint(out, ".")
		}
	}
}
