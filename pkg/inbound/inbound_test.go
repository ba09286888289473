package inbound_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"graylane/internal/http1"
	"graylane/internal/mark"
	"graylane/internal/metrics"
	"graylane/internal/upstream"
	"graylane/pkg/inbound"
	"graylane/pkg/policy"
	"graylane/pkg/propagate"
)

const trusting = `
apiVersion: graylane.dev/v1
rules:
  - {name: testers, tag: gray, matches: [{headers: [{name: X-User-Id, value: "7"}]}]}
services:
  - {name: users, hosts: [users], versions: [{tag: base, endpoints: ["127.0.0.1:1"]}, {tag: gray, endpoints: ["127.0.0.1:2"]}]}
`

// pod is an app with an inbound side before it.
type pod struct {
	*inbound.Inbound
	url     string
	seen    http.Header  // of the last request that the app got
	serving sync.RWMutex // held for a request until it is counted: its caller has the reply before
}

func (p *pod) Serve(x upstream.Exchange) {
	p.serving.RLock()
	defer p.serving.RUnlock()
	p.Inbound.Serve(x)
}

// settle waits until every request that was answered is counted.
func (p *pod) settle() {
	p.serving.Lock()
	defer p.serving.Unlock()
}

// newPod makes a pod of the service users that has the policy, or none for "".
func newPod(t *testing.T, source string, options ...func(*inbound.Inbound)) *pod {
	t.Helper()
	p := &pod{}
	app := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { p.seen = r.Header.Clone() }))
	t.Cleanup(app.Close)
	carrier, err := propagate.New(propagate.Config{})
	if err != nil {
		t.Fatal(err)
	}
	origin := upstream.NewOrigin(app.Listener.Addr().String(), http1.OriginConfig{})
	p.Inbound = &inbound.Inbound{
		Store: new(policy.Store), App: func(netip.AddrPort) *upstream.Origin { return origin },
		Marks:   &mark.Marker{Carrier: carrier, Ledger: propagate.NewLedger(100, time.Minute)},
		Metrics: metrics.New("test"), Service: "users",
	}
	if source != "" {
		compiled, err := policy.Parse("policy.yaml", []byte(source))
		if err != nil {
			t.Fatal(err)
		}
		p.Store.Replace(compiled)
	}
	for _, set := range options {
		set(p.Inbound)
	}
	p.url = serveTo(t, p, netip.AddrPort{})
	return p
}

// serveTo serves connections as if the kernel had redirected them on their way to dst.
func serveTo(t *testing.T, h upstream.Handler, dst netip.AddrPort) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := http1.NewServer(http1.Config{}, upstream.HTTP1(h))
	t.Cleanup(func() { l.Close(); server.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go server.ServeConn(conn, dst)
		}
	}()
	return "http://" + l.Addr().String()
}

// call sends one request with the headers, given as name, value, name, value. The
// reason is that of an answer of ours.
func (p *pod) call(t *testing.T, headers ...string) (status int, reason string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.url+"/v1?q=1", nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Add(headers[i], headers[i+1])
	}
	p.seen = nil
	resp := p.do(t, req)
	return resp.StatusCode, resp.Header.Get("X-Graylane-Error")
}

// do sends a request and waits until it is counted.
func (p *pod) do(t *testing.T, req *http.Request) *http.Response {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	p.settle()
	return resp
}

const (
	trace      = "4bf92f3577b34da6a3ce929d0e0e4736"
	parent     = "00-" + trace + "-00f067aa0ba902b7-01"
	untrusting = "untrusted: [127.0.0.0/8]\n" + trusting
	off        = "enabled: false\n" + trusting
)

func TestWhatTheAppIsTold(t *testing.T) {
	edge := strings.Replace(trusting, "name: users,", "name: users, edge: true,", 1)
	for _, c := range []struct {
		name, policy string
		headers      []string
		want         string
	}{
		{"a trusted caller's tag is believed", trusting, []string{"X-Gray", "blue"}, "blue"},
		{"a boolean means gray", trusting, []string{"X-Gray", "true"}, "gray"},
		{"a boolean in baggage is no tag", trusting, []string{"Baggage", "x-gray=true"}, "base"},
		{"a boolean in tracestate is no tag", trusting, []string{"Traceparent", parent, "Tracestate", "graylane=1"}, "base"},
		{"what is no tag counts as none", trusting, []string{"X-Gray", "no tag!"}, "base"},
		{"baggage alone carries the tag", trusting, []string{"Baggage", "a=1,x-gray=blue"}, "blue"},
		{"tracestate alone carries the tag", trusting, []string{"Traceparent", parent, "Tracestate", "a=1,graylane=blue"}, "blue"},
		{"a decided base request is not decided again", trusting, []string{"X-Gray", "base", "X-User-Id", "7"}, "base"},
		{"a rule decides at the first sidecar", trusting, []string{"X-User-Id", "7"}, "gray"},
		{"no rule takes it", trusting, []string{"X-User-Id", "8"}, "base"},
		{"an untrusted caller's tag is replaced", untrusting, []string{"X-Gray", "gray"}, "base"},
		{"an untrusted caller's baggage is replaced", untrusting, []string{"Baggage", "x-gray=gray"}, "base"},
		{"an untrusted caller's tracestate is replaced", untrusting, []string{"Traceparent", parent, "Tracestate", "graylane=gray"}, "base"},
		{"rules hold for untrusted callers", untrusting, []string{"X-Gray", "base", "X-User-Id", "7"}, "gray"},
		{"nobody is believed at an edge", edge, []string{"X-Gray", "gray"}, "base"},
		{"off means base at once", off, []string{"X-Gray", "gray", "X-User-Id", "7"}, "base"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPod(t, c.policy)
			p.call(t, c.headers...)
			if got := p.seen.Get("X-Gray"); got != c.want {
				t.Errorf("X-Gray at the app: got %q, want %q", got, c.want)
			}
			if got := p.seen.Get("Baggage"); !strings.Contains(got, "x-gray="+c.want) {
				t.Errorf("baggage at the app: got %q, want the member x-gray=%s", got, c.want)
			}
		})
	}
}

func TestFlagEdgeBelievesNobody(t *testing.T) {
	p := newPod(t, trusting, func(in *inbound.Inbound) { in.Edge = true })
	p.call(t, "X-Gray", "gray")
	if got := p.seen.Get("X-Gray"); got != "base" {
		t.Errorf("X-Gray at the app: got %q, want base", got)
	}
}

func TestTrustedCallerContinuesAKnownTrace(t *testing.T) {
	p := newPod(t, trusting)
	p.call(t, "X-Gray", "gray", "Traceparent", parent)
	p.call(t, "Traceparent", parent)
	if got := p.seen.Get("X-Gray"); got != "gray" {
		t.Errorf("X-Gray at the app: got %q, want gray", got)
	}
}

func TestStrangerWhoRepeatsATraceIDIsNotMadeGray(t *testing.T) {
	p := newPod(t, trusting)
	p.call(t, "X-Gray", "gray", "Traceparent", parent)
	strict, err := policy.Parse("policy.yaml", []byte(untrusting))
	if err != nil {
		t.Fatal(err)
	}
	p.Store.Replace(strict)
	p.call(t, "Traceparent", parent)
	if got := p.seen.Get("X-Gray"); got != "base" {
		t.Errorf("X-Gray at the app: got %q, want base", got)
	}
	if got := p.Marks.Ledger.Conflicts(); got != 1 {
		t.Errorf("got %d conflicts, want 1", got)
	}
}

func TestLedgerIsIdleWhileOff(t *testing.T) {
	p := newPod(t, off)
	p.call(t, "Traceparent", parent)
	if got := p.Marks.Ledger.Len(); got != 0 {
		t.Errorf("got %d remembered traces, want 0", got)
	}
}

func TestAppGetsTraceIDsThatTheCallerDidNotSend(t *testing.T) {
	p := newPod(t, trusting)
	p.call(t)
	for _, name := range []string{"Traceparent", "X-Request-Id"} {
		if p.seen.Get(name) == "" {
			t.Errorf("the app got no %s", name)
		}
	}
	p.call(t, "Traceparent", parent)
	if got := p.seen.Get("Traceparent"); got != parent {
		t.Errorf("traceparent at the app: got %q, want %q", got, parent)
	}
}

func TestUndecidedRequestGoesOnWithoutATag(t *testing.T) {
	p := newPod(t, "decide: first-match\n"+trusting)
	p.call(t, "X_Gray", "gray", "Traceparent", parent)
	for _, name := range []string{"X-Gray", "X_Gray", "Baggage", "Tracestate"} {
		if got := p.seen.Get(name); got != "" {
			t.Errorf("%s at the app: got %q, want none", name, got)
		}
	}
	if got := p.Marks.Ledger.Len(); got != 0 {
		t.Errorf("got %d remembered traces, want 0", got)
	}
	if p.call(t, "X-User-Id", "7"); p.seen.Get("X-Gray") != "gray" {
		t.Errorf("a rule took the request: X-Gray at the app is %q, want gray", p.seen.Get("X-Gray"))
	}
}

func TestWithoutPolicyCallersAreToldWhy(t *testing.T) {
	if status, reason := newPod(t, "").call(t); status != 503 || reason != "no_policy" {
		t.Errorf("got %d %q, want 503 no_policy", status, reason)
	}
}
