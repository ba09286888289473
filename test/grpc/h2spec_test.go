package grpc_test

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
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

// app is a server of net/http that speaks h2c. It answers when it has read the request: a stream that has been answered is
// over, and what comes on it then is no fault any more.
func app(t *testing.T) string {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // a request that is not whole is reset by the server
		_, _ = w.Write([]byte("ok"))
	}))
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Start()
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

func TestInboundIsAsStrictAsTheServerOfGo(t *testing.T) {
	const known = 5 // cases of 145 that Go's own server fails
	addr := app(t)
	inbound := newMesh(t, addr, addr).base.Inbound
	ours, theirs := ask(t, inbound, 2*time.Second), ask(t, addr, 2*time.Second)
	// Some cases are lost by chance: the answer comes late, or has come before h2spec does what should end the stream.
	for _, patience := range []time.Duration{5 * time.Second, 10 * time.Second} {
		if len(theirs) <= known && len(without(ours, theirs)) == 0 {
			break
		}
		t.Logf("once more, since our inbound side fails %v, Go's own server %v", ours, theirs)
		ours, theirs = both(ours, ask(t, inbound, patience)), both(theirs, ask(t, addr, patience))
	}
	if worse := without(ours, theirs); len(worse) > 0 {
		t.Errorf("our inbound side fails %v, which Go's own server does not", worse)
	}
	if len(theirs) > known {
		t.Errorf("Go's own server fails %v, want no more than the %d cases that it is known for", theirs, known)
	}
}

// both gives what is in a and in b.
func both(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(name string) bool { return !slices.Contains(b, name) })
}

// without gives what is in a and not in b.
func without(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(name string) bool { return slices.Contains(b, name) })
}

// ask runs h2spec against an address, and gives the cases that fail. What does not come is waited for with patience.
func ask(t *testing.T, addr string, patience time.Duration) (failed []string) {
	t.Helper()
	host, text, err := net.SplitHostPort(addr)
	harness.Must(t, err)
	port, err := strconv.Atoi(text)
	harness.Must(t, err)
	c := &config.Config{Host: host, Port: port, Path: "/", Timeout: patience, MaxHeaderLen: 4000}
	passed := 0
	for _, group := range []*spec.TestGroup{generic.Spec(), http2.Spec(), hpack.Spec()} {
		group.Test(c)
		passed += group.PassedCount
		failed = append(failed, failures(group)...)
	}
	t.Logf("%s passes %d cases, fails %d", addr, passed, len(failed))
	return failed
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
