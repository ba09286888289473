package grpc_test

import (
	"fmt"
	"net"
	"os"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"graylane/test/harness"
)

func TestMain(m *testing.M) {
	if at := os.Getenv(reverseProxyAt); at != "" {
		fmt.Fprintln(os.Stderr, runReverseProxy(at, os.Getenv(reverseProxyTo)))
		os.Exit(1)
	}
	os.Exit(harness.Main(m))
}

// mesh is an app's way out and two versions of users, each behind a sidecar of its own.
type mesh struct{ front, base, gray *harness.Sidecar }

// newMesh starts one before apps that listen at these addresses.
func newMesh(t testing.TB, base, gray string) *mesh {
	t.Helper()
	file := harness.PolicyFile(t.TempDir() + "/policy.yaml")
	file.Write(t, "apiVersion: graylane.dev/v1\nservices: []\n")
	p := &mesh{
		front: harness.StartSidecar(t, "front", string(file)),
		base:  harness.StartSidecar(t, "base", string(file), "--app", base, "--service", "users"),
		gray:  harness.StartSidecar(t, "gray", string(file), "--app", gray, "--service", "users", "--tag", "gray"),
	}
	text := fmt.Sprintf(`apiVersion: graylane.dev/v1
rules: [{name: testers, tag: gray, matches: [{headers: [{name: x-user-id, value: "7"}]}]}]
services:
  - name: users
    versions: [{tag: base, endpoints: [%q]}, {tag: gray, endpoints: [%q]}]
`, p.base.Inbound, p.gray.Inbound)
	file.Write(t, text)
	for _, s := range []*harness.Sidecar{p.front, p.base, p.gray} {
		harness.WaitFor(t, s.Name+" has the policy", func() bool { return s.Policy(t).Digest == harness.Digest(text) })
	}
	return p
}

// dial is a client of users on the way out of front.
func (m *mesh) dial(t testing.TB) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:///"+m.front.Outbound, grpc.WithAuthority("users"), grpc.WithTransportCredentials(insecure.NewCredentials()))
	harness.Must(t, err)
	t.Cleanup(func() { conn.Close() })
	return conn
}

// serve runs a gRPC server on loopback.
func serve(t testing.TB, register func(*grpc.Server)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	harness.Must(t, err)
	s := grpc.NewServer()
	register(s)
	go func() { _ = s.Serve(l) }()
	t.Cleanup(s.Stop)
	return l.Addr().String()
}
