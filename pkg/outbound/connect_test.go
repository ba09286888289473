package outbound_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"graylane/internal/metrics"
	"graylane/pkg/outbound"
)

func TestConnectionsGoToTheVersionOfThePod(t *testing.T) {
	source := `
apiVersion: graylane.dev/v1
services:
  - name: users
    hosts: ["users:443"]
    versions: [{tag: base, endpoints: ["10.0.0.1:8443"]}, {tag: gray, endpoints: ["10.0.0.2:8443", "10.0.0.3"]}]
  - {name: strict, hosts: [strict], fallback: none, versions: [{tag: base, endpoints: ["10.0.0.1:8443"]}]}
  - {name: marked, hosts: [marked]}
`
	refused := &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	for _, c := range []struct {
		name, tag, sni, dst string
		down                []string
		want                string // of the connections that were tried
		reason              string
	}{
		{"base", "", "users", "10.96.0.1:443", nil, "10.0.0.1:8443", "matched"},
		{"gray", "gray", "users", "10.96.0.1:443", []string{"10.0.0.2:8443"}, "10.0.0.3:443", "matched"},
		{"gray is down", "gray", "users", "10.96.0.1:443", []string{"10.0.0.2:8443", "10.0.0.3:443"}, "10.0.0.1:8443", "all_refused"},
		{"base is down", "", "users", "10.96.0.1:443", []string{"10.0.0.1:8443"}, "", "unavailable"},
		{"no fallback", "gray", "strict", "10.96.0.1:443", nil, "", "unavailable"},
		{"no versions", "gray", "marked", "10.96.0.1:443", nil, "10.96.0.1:443", "pass_through"},
		{"another port than the host's", "gray", "users", "10.96.0.1:8443", nil, "10.96.0.1:8443", "pass_through"},
		{"no name", "gray", "", "10.96.0.1:443", nil, "10.96.0.1:443", "pass_through"},
		{"a stranger's name", "gray", "example.com", "10.96.0.1:443", nil, "10.96.0.1:443", "pass_through"},
	} {
		t.Run(c.name, func(t *testing.T) {
			reached := ""
			p := newPod(t, source, func(o *outbound.Outbound) {
				o.Marks.Tag = c.tag
				o.Dial = func(_ context.Context, addr string) (net.Conn, error) {
					if slices.Contains(c.down, addr) {
						return nil, refused
					}
					reached = addr
					return &net.TCPConn{}, nil
				}
			})
			record := &metrics.Connection{ServerName: c.sni}
			conn, err := p.Connect(t.Context(), netip.MustParseAddrPort(c.dst), record)
			if (conn != nil) != (c.want != "") || (err == nil) != (c.want != "") {
				t.Errorf("got %v, %v, want a connection: %v", conn, err, c.want != "")
			}
			if reached != c.want {
				t.Errorf("got to %q, want %q", reached, c.want)
			}
			if record.Reason != c.reason {
				t.Errorf("got reason %q, want %q", record.Reason, c.reason)
			}
		})
	}
}

const slowShop = `
apiVersion: graylane.dev/v1
services:
  - name: users
    hosts: [users]
    timeouts: {connect: %v}
    versions: [{tag: base, endpoints: ["10.0.0.1:8443"]}, {tag: gray, endpoints: ["10.0.0.2:8443"]}]
`

// connects makes the connection of a gray pod whose TLS asks for users. What is
// silent does not answer.
func (p *pod) connects(t *testing.T, within time.Duration, silent ...string) (reached, reason string, err error) {
	t.Helper()
	p.Dial = func(ctx context.Context, addr string) (net.Conn, error) {
		if slices.Contains(silent, addr) {
			<-ctx.Done()
			return nil, &net.OpError{Op: "dial", Err: ctx.Err()}
		}
		return &net.TCPConn{}, nil
	}
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	record := &metrics.Connection{ServerName: "users"}
	_, err = p.Connect(ctx, netip.MustParseAddrPort("10.96.0.1:443"), record)
	return record.Endpoint, record.Reason, err
}

func TestAConnectionBelongsToItsDestinationThenToItsName(t *testing.T) {
	source := fmt.Sprintf(slowShop, time.Second) + "  - {name: marked, hosts: [marked]}\n"
	for _, c := range []struct{ owner, reached, reason, mismatches string }{
		{"", "10.0.0.2:8443", "matched", "0"},
		{"users", "10.0.0.2:8443", "matched", "0"},
		{"gone from the policy", "10.0.0.2:8443", "matched", "0"},
		{"marked", "10.96.0.1:443", "pass_through", "1"},
	} {
		p := newPod(t, source, ofGray, func(o *outbound.Outbound) {
			o.Owner = func(netip.AddrPort) string { return c.owner }
		})
		if reached, reason, err := p.connects(t, 10*time.Second); reached != c.reached || reason != c.reason || err != nil {
			t.Errorf("an address of %q: got to %q, %s, %v, want %q, %s", c.owner, reached, reason, err, c.reached, c.reason)
		}
		if want := "\ngraylane_host_mismatch_total " + c.mismatches + "\n"; !strings.Contains(scrape(p.Metrics), want) {
			t.Errorf("an address of %q: got no %q", c.owner, want)
		}
	}
}

func TestConnectionsAreBaseWhileThePolicyIsSwitchedOff(t *testing.T) {
	p := newPod(t, "enabled: false\n"+fmt.Sprintf(slowShop, time.Second), ofGray)
	if reached, reason, err := p.connects(t, 10*time.Second); reached != "10.0.0.1:8443" || reason != "matched" || err != nil {
		t.Errorf("got to %q, %s, %v, want base", reached, reason, err)
	}
}

func TestAnEndpointThatDoesNotAnswerCostsAConnectionNoMoreThanARequest(t *testing.T) {
	p := newPod(t, fmt.Sprintf(slowShop, 20*time.Millisecond), ofGray)
	for _, want := range []string{"all_refused", "none_healthy"} { // the second knows of the first
		reached, reason, err := p.connects(t, 10*time.Second, "10.0.0.2:8443")
		if reached != "10.0.0.1:8443" || reason != want || err != nil {
			t.Errorf("got to %q, %s, %v, want base, %s", reached, reason, err, want)
		}
	}
}

func TestWhenTheTimeOfAConnectionIsUpNobodyIsToBlame(t *testing.T) {
	p := newPod(t, fmt.Sprintf(slowShop, time.Hour), ofGray)
	if reached, _, err := p.connects(t, 20*time.Millisecond, "10.0.0.2:8443"); reached != "10.0.0.2:8443" || err == nil {
		t.Errorf("got to %q, %v, want no further than gray, and an error", reached, err)
	}
	if reached, reason, err := p.connects(t, 10*time.Second); reached != "10.0.0.2:8443" || reason != "matched" || err != nil {
		t.Errorf("afterwards: got to %q, %s, %v, want gray as before", reached, reason, err)
	}
}

func TestBeforeAPolicyConnectionsGoWhereTheyWereGoing(t *testing.T) {
	p := newPod(t, "", func(o *outbound.Outbound) {
		o.Dial = func(_ context.Context, addr string) (net.Conn, error) { return nil, errors.New(addr) }
	})
	_, err := p.Connect(t.Context(), netip.MustParseAddrPort("10.96.0.1:443"), &metrics.Connection{ServerName: "users"})
	if err == nil || err.Error() != "10.96.0.1:443" {
		t.Errorf("got %v, want a try of 10.96.0.1:443", err)
	}
}
