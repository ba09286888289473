package outbound_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"graylane/internal/http1"
	"graylane/internal/mark"
	"graylane/internal/metrics"
	"graylane/internal/upstream"
	"graylane/pkg/outbound"
	"graylane/pkg/policy"
	"graylane/pkg/propagate"
)

// origin is a version of a service, or a stranger: a server that names itself.
type origin struct {
	addr   string
	hits   atomic.Int64
	seen   atomic.Pointer[http.Header] // of the last request
	target atomic.Pointer[string]      // of the last request
	says   map[string]string           // headers of its replies
	stop   func()
}

func newOrigin(t *testing.T, name string) *origin {
	t.Helper()
	o := &origin{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o.hits.Add(1)
		header := r.Header.Clone()
		o.seen.Store(&header)
		o.target.Store(&r.RequestURI)
		for name, value := range o.says {
			w.Header().Set(name, value)
		}
		fmt.Fprint(w, name)
	}))
	t.Cleanup(server.Close)
	o.addr, o.stop = server.Listener.Addr().String(), server.Close
	return o
}

func (o *origin) got(name string) string { return o.seen.Load().Get(name) }

// pod is an app's way out.
type pod struct {
	*outbound.Outbound
	client http.Client
}

func newPod(t testing.TB, source string, options ...func(*outbound.Outbound)) *pod {
	t.Helper()
	carrier, err := propagate.New(propagate.Config{})
	if err != nil {
		t.Fatal(err)
	}
	p := &pod{Outbound: &outbound.Outbound{
		Store: new(policy.Store), Table: upstream.NewTable(http1.OriginConfig{}), Metrics: metrics.New("test"),
		Marks: &mark.Marker{Carrier: carrier, Ledger: propagate.NewLedger(100, time.Minute)},
	}}
	if source != "" {
		p.apply(t, source)
	}
	for _, set := range options {
		set(p.Outbound)
	}
	proxy := &url.URL{Scheme: "http", Host: serve(t, p.Outbound)}
	p.client.Transport = &http.Transport{DisableKeepAlives: true, Proxy: http.ProxyURL(proxy)}
	return p
}

func (p *pod) apply(t testing.TB, source string) {
	t.Helper()
	compiled, err := policy.Parse("policy.yaml", []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	next := p.Table.Begin()
	compiled.Bind(func(v *policy.Version) policy.Backend {
		kind, _ := upstream.KindNamed(v.Service.Balance.Type)
		version := upstream.Version{
			Service: v.Service.Name, Tag: v.Tag, Base: v.Tag == policy.Base, Retries: v.Service.Retries,
			Balance: upstream.Balance{Kind: kind}, Limit: upstream.Limit(v.Service.Limit),
		}
		for _, t := range v.Endpoints {
			version.Targets = append(version.Targets, upstream.Target(t))
		}
		return next.Group(version)
	})
	p.Store.Replace(compiled)
	next.Commit()
}

func serve(t testing.TB, h upstream.Handler) string {
	t.Helper()
	return serveTo(t, h, netip.AddrPort{})
}

// serveTo serves connections as if the kernel had redirected them on their way to dst.
func serveTo(t testing.TB, h upstream.Handler, dst netip.AddrPort) string {
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
	return l.Addr().String()
}

// get calls the url with headers, given as name, value, name, value, and returns
// the status and who answered, or the reason of an answer of ours.
func (p *pod) get(t *testing.T, url string, headers ...string) (status int, by string) {
	t.Helper()
	return p.send(t, http.MethodGet, url, headers...)
}

func (p *pod) send(t *testing.T, method, url string, headers ...string) (status int, by string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Add(headers[i], headers[i+1])
	}
	resp, err := p.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if reason := resp.Header.Get("X-Graylane-Error"); reason != "" {
		return resp.StatusCode, reason
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

const (
	trace  = "4bf92f3577b34da6a3ce929d0e0e4736"
	parent = "00-" + trace + "-00f067aa0ba902b7-01"
)

// shop is a policy for users with a base and a gray version, orders with base
// alone, strict with no fallback, and legacy, which is marked only.
func shop(base, gray *origin) string {
	return fmt.Sprintf(`
apiVersion: graylane.dev/v1
rules:
  - {name: testers, tag: gray, matches: [{headers: [{name: X-User-Id, value: "7"}]}]}
services:
  - name: users
    hosts: [users]
    versions: [{tag: base, endpoints: [%[1]q]}, {tag: gray, endpoints: [%[2]q]}]
  - name: orders
    hosts: [orders]
    versions: [{tag: base, endpoints: [%[1]q]}]
  - name: strict
    hosts: [strict]
    fallback: none
    versions: [{tag: base, endpoints: [%[1]q]}, {tag: gray, endpoints: [%[2]q]}]
  - name: legacy
    hosts: [%[1]q]
`, base.addr, gray.addr)
}

func TestWhoServesARequest(t *testing.T) {
	base, gray := newOrigin(t, "base"), newOrigin(t, "gray")
	p := newPod(t, shop(base, gray))
	for _, c := range []struct {
		name, url string
		headers   []string
		status    int
		by, told  string // told: X-Gray at who served it
	}{
		{"a base request", "http://users/", nil, 200, "base", "base"},
		{"a gray request", "http://users/", []string{"X-Gray", "gray"}, 200, "gray", "gray"},
		{"a rule's request", "http://users/", []string{"X-User-Id", "7"}, 200, "gray", "gray"},
		{"a decided base request is not decided again", "http://users/", []string{"X-Gray", "base", "X-User-Id", "7"}, 200, "base", "base"},
		{"another tag falls back to base and keeps its tag", "http://users/", []string{"X-Gray", "blue"}, 200, "base", "blue"},
		{"gray falls back where there is no gray", "http://orders/", []string{"X-Gray", "gray"}, 200, "base", "gray"},
		{"no fallback: gray is served", "http://strict/", []string{"X-Gray", "gray"}, 200, "gray", "gray"},
		{"no fallback: another tag is not", "http://strict/", []string{"X-Gray", "blue"}, 503, "unavailable", ""},
		{"a service without versions is marked", "http://" + base.addr + "/", []string{"X-Gray", "gray"}, 200, "base", "gray"},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, by := p.get(t, c.url, c.headers...)
			if status != c.status || by != c.by {
				t.Fatalf("got %d by %q, want %d by %q", status, by, c.status, c.by)
			}
			if c.told == "" {
				return
			}
			served := map[string]*origin{"base": base, "gray": gray}[c.by]
			if got := served.got("X-Gray"); got != c.told {
				t.Errorf("X-Gray at who served it: got %q, want %q", got, c.told)
			}
		})
	}
}

func TestNothingOfOursReachesAStranger(t *testing.T) {
	base, gray, stranger := newOrigin(t, "base"), newOrigin(t, "gray"), newOrigin(t, "stranger")
	p := newPod(t, shop(base, gray))
	status, by := p.get(t, "http://"+stranger.addr+"/",
		"X-Gray", "gray", "Baggage", "a=1,x-gray=gray", "Traceparent", parent, "Tracestate", "b=2,graylane=gray")
	if status != 200 || by != "stranger" {
		t.Fatalf("got %d by %q, want 200 by stranger", status, by)
	}
	for name, want := range map[string]string{
		"X-Gray": "", "Baggage": "a=1", "Tracestate": "b=2", "Traceparent": parent, "X-Request-Id": "",
	} {
		if got := stranger.got(name); got != want {
			t.Errorf("%s at the stranger: got %q, want %q", name, got, want)
		}
	}
}

func TestGrayThatIsDownFallsBackAndKeepsItsTag(t *testing.T) {
	base, gray := newOrigin(t, "base"), newOrigin(t, "gray")
	p := newPod(t, shop(base, gray))
	gray.stop()
	if status, by := p.get(t, "http://users/", "X-Gray", "gray"); status != 200 || by != "base" {
		t.Fatalf("got %d by %q, want 200 by base", status, by)
	}
	if got := base.got("X-Gray"); got != "gray" {
		t.Errorf("X-Gray at base: got %q, want gray", got)
	}
	if status, by := p.get(t, "http://strict/", "X-Gray", "gray"); status != 503 || by != "unavailable" {
		t.Errorf("without fallback: got %d by %q, want 503 by unavailable", status, by)
	}
}

func TestBaseThatIsDownNeverGoesToGray(t *testing.T) {
	base, gray := newOrigin(t, "base"), newOrigin(t, "gray")
	p := newPod(t, shop(base, gray))
	base.stop()
	for range 20 {
		if status, by := p.get(t, "http://users/"); status != 503 || by != "unavailable" {
			t.Fatalf("got %d by %q, want 503 by unavailable", status, by)
		}
	}
	if got := gray.hits.Load(); got != 0 {
		t.Errorf("%d base requests reached gray", got)
	}
}

func TestCallsBelongToTheInboundRequestWithTheirTraceID(t *testing.T) {
	base, gray := newOrigin(t, "base"), newOrigin(t, "gray")
	p := newPod(t, shop(base, gray))
	p.remember("gray", parent)
	if _, by := p.get(t, "http://users/", "Traceparent", parent); by != "gray" {
		t.Errorf("a call under the gray trace went to %s", by)
	}
	if _, by := p.get(t, "http://users/"); by != "base" {
		t.Errorf("a call without a trace went to %s", by)
	}
}

func TestCallsOfOneTraceAreDecidedOnce(t *testing.T) {
	base, gray := newOrigin(t, "base"), newOrigin(t, "gray")
	p := newPod(t, shop(base, gray))
	p.get(t, "http://users/", "Traceparent", parent, "X-User-Id", "7")
	if _, by := p.get(t, "http://users/", "Traceparent", parent); by != "gray" {
		t.Errorf("the second call of the trace went to %s, want gray", by)
	}
}

func ofGray(o *outbound.Outbound) { o.Marks.Tag = "gray" }

func TestPodsOwnTagAnswersWhereNothingElseDoes(t *testing.T) {
	base, gray := newOrigin(t, "base"), newOrigin(t, "gray")
	p := newPod(t, shop(base, gray), ofGray)
	if _, by := p.get(t, "http://users/"); by != "gray" {
		t.Errorf("a call of a gray pod went to %s", by)
	}
	if _, by := p.get(t, "http://users/", "X-Gray", "base"); by != "base" {
		t.Errorf("a call marked base went to %s", by)
	}
}

func TestOffMeansBaseForEveryone(t *testing.T) {
	base, gray := newOrigin(t, "base"), newOrigin(t, "gray")
	p := newPod(t, shop(base, gray), ofGray)
	p.apply(t, "enabled: false\n"+shop(base, gray))
	if _, by := p.get(t, "http://users/", "X-Gray", "gray", "X-User-Id", "7"); by != "base" {
		t.Errorf("a gray call went to %s", by)
	}
	if got := base.got("X-Gray"); got != "base" {
		t.Errorf("X-Gray at base: got %q, want base", got)
	}
}

func TestFirstCallThatARuleTakesDecidesForTheTrace(t *testing.T) {
	base, gray := newOrigin(t, "base"), newOrigin(t, "gray")
	p := newPod(t, "decide: first-match\n"+shop(base, gray))
	if _, by := p.get(t, "http://users/", "Traceparent", parent); by != "base" || base.got("X-Gray") != "" {
		t.Errorf("an undecided call went to %s with the tag %q, want base and none", by, base.got("X-Gray"))
	}
	if _, by := p.get(t, "http://users/", "Traceparent", parent, "X-User-Id", "7"); by != "gray" {
		t.Errorf("the call that a rule takes went to %s, want gray", by)
	}
	if _, by := p.get(t, "http://users/", "Traceparent", parent); by != "gray" {
		t.Errorf("the next call of the trace went to %s, want gray", by)
	}
}

func TestWithoutPolicyTheAppIsToldWhy(t *testing.T) {
	if status, by := newPod(t, "").get(t, "http://users/"); status != 503 || by != "no_policy" {
		t.Errorf("got %d by %q, want 503 by no_policy", status, by)
	}
}

// remember does what the inbound side does for a request with the tag.
func (p *pod) remember(tag, traceparent string) {
	var ids propagate.IDs
	p.Marks.Carrier.IDs(head{traceparent}, &ids)
	p.Marks.Ledger.Put(time.Now(), &ids, tag)
}

// head is a request that has a traceparent and nothing else.
type head struct{ traceparent string }

func (h head) Get(name string) []byte {
	if strings.EqualFold(name, "traceparent") {
		return []byte(h.traceparent)
	}
	return nil
}

func (h head) Values(dst [][]byte, name string) [][]byte {
	if v := h.Get(name); v != nil {
		return append(dst, v)
	}
	return dst
}

func (head) Set(string, []byte) {}
func (head) Del(string)         {}
func (head) DelAlike(string)    {}
