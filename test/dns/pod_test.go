package dns

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"graylane/test/harness"
)

// instances are servers at several addresses and one port, each answering with its address.
type instances struct{ port string }

func newInstances(t testing.TB, hosts ...string) instances {
	t.Helper()
	port := strconv.Itoa(harness.FreePort(t))
	for _, host := range hosts {
		l, err := net.Listen("tcp", net.JoinHostPort(host, port))
		harness.Must(t, err)
		server := &http.Server{ReadHeaderTimeout: harness.Patience, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, host)
		})}
		go func() { _ = server.Serve(l) }()
		t.Cleanup(func() { _ = server.Close() })
	}
	return instances{port}
}

// blackHole takes the port of the instances at another address, and lets nobody connect: its queue is full.
func (i instances) blackHole(t testing.TB, host string) {
	t.Helper()
	port, err := strconv.Atoi(i.port)
	harness.Must(t, err)
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	harness.Must(t, err)
	t.Cleanup(func() { _ = syscall.Close(fd) })
	addr := &syscall.SockaddrInet4{Port: port, Addr: [4]byte(net.ParseIP(host).To4())}
	harness.Must(t, syscall.Bind(fd, addr))
	harness.Must(t, syscall.Listen(fd, 0))
	for refused := 0; refused < 3; { // once may be a machine that is busy
		conn, err := net.DialTimeout("tcp", net.JoinHostPort(host, i.port), 200*time.Millisecond)
		if err != nil {
			refused++
			continue
		}
		t.Cleanup(func() { _ = conn.Close() })
	}
}

// pod is a sidecar that asks the name server, and a client of it.
type pod struct {
	t       testing.TB
	sidecar *harness.Sidecar
	client  *http.Client
}

// newPod starts it with these keys of the service users.
func newPod(t testing.TB, s *nameServer, keys string) *pod {
	t.Helper()
	policy := harness.PolicyFile(filepath.Join(t.TempDir(), "policy.yaml"))
	policy.Write(t, "apiVersion: graylane.dev/v1\nservices:\n  - name: users\n    hosts: [users]\n"+keys)
	p := &pod{t: t, sidecar: harness.StartSidecar(t, "sidecar", string(policy), "--dns", s.addr)}
	p.sidecar.WaitReady(t)
	p.client = &http.Client{Timeout: harness.Patience, Transport: &http.Transport{
		Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: p.sidecar.Outbound}),
	}}
	t.Cleanup(p.client.CloseIdleConnections)
	return p
}

// ask returns the address of the instance that served a request.
func (p *pod) ask(headers ...string) (string, error) {
	req, err := http.NewRequest(http.MethodGet, "http://users/", nil)
	if err != nil {
		return "", err
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := p.client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d: %s", resp.StatusCode, body)
	}
	return string(body), err
}

// knowing waits until the sidecar has found so many endpoints: of one name, the addresses of one kind may come before those
// of the other.
func (p *pod) knowing(n int) *pod {
	p.t.Helper()
	harness.WaitFor(p.t, fmt.Sprintf("%d endpoints are known", n), func() bool {
		var page struct{ Endpoints []struct{} }
		_, body := harness.Page("http://" + p.sidecar.Admin + "/endpoints?format=json")
		return json.Unmarshal([]byte(body), &page) == nil && len(page.Endpoints) == n
	})
	return p
}

// served asks n times and returns how often each address served. None may fail.
func (p *pod) served(n int) map[string]int {
	p.t.Helper()
	got := make(map[string]int)
	for range n {
		by, err := p.ask()
		if err != nil {
			p.t.Fatal(err)
		}
		got[by]++
	}
	return got
}

// stale tells whether the sidecar says that it goes by what it knew.
func (p *pod) stale() bool {
	p.t.Helper()
	return p.sidecar.Metric(p.t, "graylane_endpoints_stale", `tag="base"`) == 1
}
