package outbound_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"graylane/internal/metrics"
	"graylane/internal/upstream"
	"graylane/pkg/outbound"
)

// from serves requests as if the kernel had redirected them on their way to an address.
type from struct {
	*outbound.Outbound
	dst netip.AddrPort
}

func (f from) Serve(x upstream.Exchange) { f.Outbound.Serve(onTheWay{x, f.dst}) }

type onTheWay struct {
	upstream.Exchange
	dst netip.AddrPort
}

func (x onTheWay) Destination() netip.AddrPort { return x.dst }

// redirected calls with a Host, on the way to an address.
func (p *pod) redirected(t *testing.T, dst, host string, headers ...string) (status int, by string) {
	t.Helper()
	addr := serve(t, from{p.Outbound, netip.MustParseAddrPort(dst)})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+addr+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = host
	for i := 0; i < len(headers); i += 2 {
		req.Header.Add(headers[i], headers[i+1])
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
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

func TestARedirectedCallBelongsToItsDestinationThenToItsHost(t *testing.T) {
	users, orders, stranger := newOrigin(t, "users"), newOrigin(t, "orders"), newOrigin(t, "stranger")
	source := `
apiVersion: graylane.dev/v1
services:
  - {name: users, hosts: [users], versions: [{tag: base, endpoints: ["` + users.addr + `"]}]}
  - {name: orders, hosts: [orders], versions: [{tag: base, endpoints: ["` + orders.addr + `"]}]}
`
	const usersAt, ordersAt = "10.96.0.1:80", "10.96.0.2:80"
	owners := map[string]string{usersAt: "users", ordersAt: "orders", "10.96.0.3:80": "gone from the policy"}
	for _, c := range []struct {
		name, dst, host, want string
		mismatches            string
	}{
		{"both of one service", usersAt, "users", "users", "0"},
		{"of two services: the destination wins", usersAt, "orders", "users", "1"},
		{"a host of no service", usersAt, "example.com", "users", "0"},
		{"an address as host", usersAt, usersAt, "users", "0"},
		{"a destination of no service", stranger.addr, "users", "users", "0"},
		{"a destination of a service that is no more", "10.96.0.3:80", "orders", "orders", "0"},
		{"neither of a service: where it was going", stranger.addr, "example.com", "stranger", "0"},
	} {
		p := newPod(t, source, func(o *outbound.Outbound) {
			o.Owner = func(dst netip.AddrPort) string { return owners[dst.String()] }
		})
		if status, by := p.redirected(t, c.dst, c.host); status != 200 || by != c.want {
			t.Errorf("%s: got %d by %q, want 200 by %q", c.name, status, by, c.want)
		}
		if got, want := scrape(p.Metrics), "\ngraylane_host_mismatch_total "+c.mismatches+"\n"; !strings.Contains(got, want) {
			t.Errorf("%s: got no %q in\n%s", c.name, want, got)
		}
	}
}

// Apps that look for endpoints by themselves, by a registry say, name addresses: one of a gray pod is no way to it.
func TestACallToAnAddressBelongsToItsOwner(t *testing.T) {
	base, gray, stranger := newOrigin(t, "base"), newOrigin(t, "gray"), newOrigin(t, "stranger")
	for _, c := range []struct {
		host    string
		headers []string
		want    string
	}{
		{gray.addr, nil, "base"},
		{gray.addr, []string{"X-Gray", "gray"}, "gray"},
		{base.addr, []string{"X-Gray", "gray"}, "base"}, // a host of the service legacy
		{stranger.addr, []string{"X-Gray", "gray"}, "stranger"},
		{"10.9.8.7", nil, "base"},
		{"[fd00::7]", nil, "base"},
		{"[::ffff:10.9.8.7]:80", nil, "base"},
	} {
		p := newPod(t, shop(base, gray), func(o *outbound.Outbound) {
			owners := map[string]string{base.addr: "users", gray.addr: "users", "10.9.8.7:80": "users", "[fd00::7]:80": "users"}
			o.Owner = func(dst netip.AddrPort) string { return owners[dst.String()] }
		})
		if status, by := p.get(t, "http://"+c.host+"/", c.headers...); status != 200 || by != c.want {
			t.Errorf("%s with %v: got %d by %q, want 200 by %q", c.host, c.headers, status, by, c.want)
		}
	}
}

func scrape(m *metrics.Metrics) string {
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	return w.Body.String()
}

func TestAnEndpointWithoutAPortKeepsThatOfTheDestination(t *testing.T) {
	users := newOrigin(t, "users")
	p := newPod(t, "apiVersion: graylane.dev/v1\nservices: [{name: users, hosts: [users], versions: [{tag: base, endpoints: [127.0.0.1]}]}]\n")
	_, port, err := net.SplitHostPort(users.addr)
	if err != nil {
		t.Fatal(err)
	}
	if status, by := p.redirected(t, "10.96.0.1:"+port, "users"); status != 200 || by != "users" {
		t.Errorf("got %d by %q, want 200 by users", status, by)
	}
}

func TestHopsAreCountedForServicesAlone(t *testing.T) {
	base, gray, stranger := newOrigin(t, "base"), newOrigin(t, "gray"), newOrigin(t, "stranger")
	for _, c := range []struct{ sent, want string }{
		{"", "1"}, {"1", "2"}, {"7", "8"}, {"0", "1"}, {"9", "1"}, {"-1", "1"}, {"many", "1"},
	} {
		p := newPod(t, shop(base, gray))
		p.get(t, "http://users/", "X-Graylane-Hops", c.sent)
		if got := base.got("X-Graylane-Hops"); got != c.want {
			t.Errorf("after %q: got %q, want %q", c.sent, got, c.want)
		}
		p.get(t, "http://"+stranger.addr+"/", "X-Graylane-Hops", c.sent)
		if got, ok := (*stranger.seen.Load())["X-Graylane-Hops"]; ok {
			t.Errorf("the stranger got %q", got)
		}
	}
	p, before := newPod(t, shop(base, gray)), base.hits.Load()
	if status, by := p.get(t, "http://users/", "X-Graylane-Hops", "8"); status != 508 || by != "loop" {
		t.Errorf("after 8: got %d by %q, want 508 by loop", status, by)
	}
	if got := base.hits.Load() - before; got != 0 {
		t.Errorf("%d requests went on", got)
	}
}

func TestALoopOverTwoSidecarsEnds(t *testing.T) {
	pods := [2]*pod{newPod(t, ""), newPod(t, "")}
	for i, p := range pods {
		other := serve(t, pods[1-i].Outbound)
		p.apply(t, "apiVersion: graylane.dev/v1\nservices: [{name: users, hosts: [users], versions: [{tag: base, endpoints: [\""+other+"\"]}]}]\n")
	}
	if status, by := pods[0].get(t, "http://users/"); status != 508 || by != "loop" {
		t.Errorf("got %d by %q, want 508 by loop", status, by)
	}
}

func TestARedirectedTunnelIsForTheProxyThatItWasGoingTo(t *testing.T) {
	const ask = "CONNECT far.example:443 HTTP/1.1\r\nHost: far.example:443\r\nProxy-Authorization: p\r\n\r\n"
	proxy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer proxy.Close()
	heard := make(chan string, 1)
	go func() {
		conn, err := proxy.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		conn.SetDeadline(time.Now().Add(10 * time.Second))
		head := make([]byte, len(ask))
		n, _ := io.ReadFull(conn, head)
		heard <- string(head[:n])
		io.WriteString(conn, "HTTP/1.1 200 Established\r\n\r\n")
	}()
	p := newPod(t, fmt.Sprintf(slowShop, time.Second))
	conn, err := net.Dial("tcp", serveTo(t, p.Outbound, netip.MustParseAddrPort(proxy.Addr().String())))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	io.WriteString(conn, ask)
	if got := <-heard; got != ask {
		t.Errorf("the proxy heard %q, want %q", got, ask)
	}
	if reply, err := io.ReadAll(conn); !strings.HasPrefix(string(reply), "HTTP/1.1 200 Established\r\n") || err != nil {
		t.Errorf("got %q, %v, want the proxy's own 200", reply, err)
	}
}
