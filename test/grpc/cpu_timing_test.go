package grpc_test

import (
	"fmt"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	testgrpc "google.golang.org/grpc/interop/grpc_testing"

	"graylane/test/harness"
)

const reverseProxyAt, reverseProxyTo = "GRAYLANE_REVERSE_PROXY_AT", "GRAYLANE_REVERSE_PROXY_TO"

// runReverseProxy is what the sidecar is measured against: the proxy of the standard library, over h2c.
func runReverseProxy(at, to string) error {
	h2c := new(http.Protocols)
	h2c.SetUnencryptedHTTP2(true)
	target := &url.URL{Scheme: "http", Host: to}
	proxy := &httputil.ReverseProxy{
		Transport: &http.Transport{Protocols: h2c, DisableCompression: true},
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(target); r.Out.Host = r.In.Host },
	}
	s := &http.Server{Addr: at, Handler: proxy, Protocols: h2c, ReadHeaderTimeout: time.Minute}
	return s.ListenAndServe()
}

// BenchmarkUnaryCall gives the CPU time that one unary call costs a proxy, in microseconds: of the app's way out
// with all its steps, and of the reverse proxy of the standard library. Compare what one run says.
func BenchmarkUnaryCall(b *testing.B) {
	app := serve(b, func(s *grpc.Server) { testgrpc.RegisterTestServiceServer(s, named{name: "base"}) })
	file := harness.PolicyFile(b.TempDir() + "/policy.yaml")
	file.Write(b, fmt.Sprintf("apiVersion: graylane.dev/v1\nservices: [{name: users, versions: [{tag: base, endpoints: [%q]}]}]\n", app))
	sidecar := harness.StartSidecar(b, "front", string(file)).WaitReady(b)
	at := harness.FreeAddress(b)
	self, err := os.Executable()
	harness.Must(b, err)
	proxy := harness.Start(b, "proxy", append(os.Environ(), reverseProxyAt+"="+at, reverseProxyTo+"="+app), self)

	b.Run("sidecar", func(b *testing.B) { measure(b, sidecar.Outbound, sidecar.PID()) })
	b.Run("ReverseProxy", func(b *testing.B) { measure(b, at, proxy.PID()) })
}

// measure makes calls from 16 goroutines over one connection.
func measure(b *testing.B, addr string, pid int) {
	conn, err := grpc.NewClient("passthrough:///"+addr, grpc.WithAuthority("users"), grpc.WithTransportCredentials(insecure.NewCredentials()))
	harness.Must(b, err)
	defer conn.Close()
	tc := testgrpc.NewTestServiceClient(conn)
	call := func() {
		if _, err := tc.UnaryCall(b.Context(), &testgrpc.SimpleRequest{}, grpc.WaitForReady(true)); err != nil {
			b.Error(err)
		}
	}
	for range 200 {
		call() // connections are made, pools fill
	}
	before := cpu(b, pid)
	b.ResetTimer()
	var callers sync.WaitGroup
	for range 16 {
		callers.Go(func() {
			for range max(b.N/16, 1) {
				call()
			}
		})
	}
	callers.Wait()
	used := cpu(b, pid) - before
	b.ReportMetric(float64(used.Microseconds())/float64(max(b.N/16, 1)*16), "cpu-us/call")
}

// cpu is the time that a process has used, user and system.
func cpu(b *testing.B, pid int) time.Duration {
	b.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	harness.Must(b, err)
	const user, system, tick = 11, 12, 10 * time.Millisecond // fields behind the name, and USER_HZ
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	n := 0
	for _, i := range [...]int{user, system} {
		ticks, err := strconv.Atoi(fields[i])
		harness.Must(b, err)
		n += ticks
	}
	return time.Duration(n) * tick
}
