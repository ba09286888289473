package grpc_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"github.com/summerwind/h2spec/config"
	"github.com/summerwind/h2spec/generic"
	"github.com/summerwind/h2spec/hpack"
	"github.com/summerwind/h2spec/http2"
	"github.com/summerwind/h2spec/spec"

	"graylane/test/harness"
)

// app is a server of net/http that speaks h2c.
func app(t *testing.T) string {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok")) }))
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Start()
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

func TestInboundIsAsStrictAsTheServerOfGo(t *testing.T) {
	addr := app(t)
	passed, failed := ask(t, addr)
	p := newMesh(t, addr, addr)
	ours, oursFailed := ask(t, p.base.Inbound)
	t.Logf("Go's own server passes %d cases, our inbound side %d", passed, ours)
	if ours < passed {
		t.Errorf("our inbound side fails what Go's own server does not: %v; that fails %v", oursFailed, failed)
	}
	if passed < 139 {
		t.Errorf("Go's own server passes %d cases, want the 139 that it is known for", passed)
	}
}

// ask runs h2spec against an address.
func ask(t *testing.T, addr string) (passed int, failed []string) {
	t.Helper()
	host, text, err := net.SplitHostPort(addr)
	harness.Must(t, err)
	port, err := strconv.Atoi(text)
	harness.Must(t, err)
	c := &config.Config{Host: host, Port: port, Path: "/", Timeout: 2 * time.Second, MaxHeaderLen: 4000}
	for _, group := range []*spec.TestGroup{generic.Spec(), http2.Spec(), hpack.Spec()} {
		group.Test(c)
		passed += group.PassedCount
		failed = append(failed, failures(group)...)
	}
	return passed, failed
}

func failures(group *spec.TestGroup) (all []string) {
	for i, c := range group.Tests {
		if c.Result != nil && c.Result.Failed {
			all = append(all, group.ID()+"/"+strconv.Itoa(i+1))
		}
	}
	for _, g := range group.Groups {
		all = append(all, failures(g)...)
	}
	return all
}
