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

func ofGray(o *outbound.Outbound) { o.Marks.Tag = "gray" }

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

func (head) Del(string) {}

func (head) DelAlike(string) {}
