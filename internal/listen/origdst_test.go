package listen

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"testing"

	"graylane/internal/redirect"
	"graylane/test/harness"
	"graylane/test/netns"
)

// redirected is a pod whose traffic the kernel brings to two Sets, beside another
// machine. A Set says on each connection where it was going.
func redirected(t *testing.T, inbound, outbound []string) (pod, other *netns.Space) {
	t.Helper()
	pod, other = cabled(t)
	serveIn(t, pod, io.Discard, inbound)
	serveIn(t, pod, io.Discard, outbound)
	for _, addr := range []string{"10.1.0.2:8080", "[fd01::2]:8080"} {
		pod.Listen(t, addr) // the app, without which callers are refused
	}
	rules := redirect.Rules{UID: 1337, Inbound: redirect.Side{Port: 15006}, Outbound: redirect.Side{Port: 15001}}
	if err := pod.Do(rules.Install); err != nil {
		t.Fatal(err)
	}
	return pod, other
}

func cabled(t *testing.T) (pod, other *netns.Space) {
	t.Helper()
	pod, other = netns.New(t, "pod"), netns.New(t, "other")
	pod.Wire(t, "eth0", other, "eth0")
	pod.Address(t, "eth0", "10.1.0.2/24", "fd01::2/64")
	other.Address(t, "eth0", "10.1.0.1/24", "fd01::1/64")
	pod.Run(t, "ip", "route", "add", "default", "via", "10.1.0.1")
	pod.Run(t, "ip", "route", "add", "default", "via", "fd01::1")
	return pod, other
}

// serveIn runs a Set that answers with the destination that it was handed.
func serveIn(t *testing.T, where *netns.Space, log io.Writer, addrs []string) *Set {
	t.Helper()
	var set *Set
	if err := where.Do(func() (err error) {
		set, err = Bind(context.Background(), addrs)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(set.Close)
	set.Log = slog.New(slog.NewTextHandler(log, nil))
	go func() {
		err := set.Run(context.Background(), wholly(func(conn net.Conn, dst netip.AddrPort) { fmt.Fprint(conn, dst) }))
		if err != nil && !errors.Is(err, net.ErrClosed) {
			t.Errorf("%s: %v", where, err)
		}
	}()
	return set
}

// ask calls an address and gives what the Set there was handed.
func ask(t *testing.T, from *netns.Space, addr string) string {
	t.Helper()
	conn, err := from.Dial(t, 1000, addr)
	if err != nil {
		return err.Error()
	}
	answer, err := io.ReadAll(conn)
	if err != nil {
		return err.Error()
	}
	return string(answer)
}

const (
	asked = "" // where the caller asked to go
	none  = "invalid AddrPort"
)

func TestOriginalDestinations(t *testing.T) {
	for _, sockets := range []struct {
		name              string
		inbound, outbound []string
	}{
		{"one socket for both protocols", []string{":15006"}, []string{"127.0.0.1:15001", "[::1]:15001"}},
		{"a socket for each", []string{"10.1.0.2:15006", "[fd01::2]:15006"}, []string{":15001"}},
	} {
		t.Run(sockets.name, func(t *testing.T) {
			pod, other := redirected(t, sockets.inbound, sockets.outbound)
			for _, c := range []struct {
				from *netns.Space
				to   string
				want string
			}{
				{other, "10.1.0.2:8080", asked},
				{other, "[fd01::2]:8080", asked},
				{other, "10.1.0.2:15006", none},
				{other, "[fd01::2]:15006", none},
				{pod, "203.0.113.7:80", asked},
				{pod, "[2001:db8::7]:443", asked},
				{pod, "10.1.0.2:8080", asked},
				{pod, "127.0.0.1:15001", none},
				{pod, "[::1]:15001", none},
			} {
				want := c.want
				if want == asked {
					want = c.to
				}
				if got := ask(t, c.from, c.to); got != want {
					t.Errorf("%s calls %s: got %s, want %s", c.from, c.to, got, want)
				}
			}
		})
	}
}

func TestAConnectionThatTheKernelForgotIsClosed(t *testing.T) {
	pod, other := cabled(t)
	log := new(lines)
	set := serveIn(t, pod, log, []string{":15006"})
	if got := ask(t, other, "10.1.0.2:15006"); got != none {
		t.Errorf("nothing is tracked: got %q, want %s", got, none)
	}
	pod.Run(t, "nft", "add table inet watch; add chain inet watch in { type filter hook prerouting priority 0; }; add rule inet watch in ct state new accept")
	if got := ask(t, other, "10.1.0.2:15006"); got != none {
		t.Errorf("tracked: got %q, want %s", got, none)
	}
	pod.Run(t, "nft", "add table inet raw; add chain inet raw in { type filter hook prerouting priority -300; }; add rule inet raw in notrack")
	for range 3 {
		if got := ask(t, other, "10.1.0.2:15006"); got != "" {
			t.Errorf("forgotten: got %q, want nothing", got)
		}
	}
	set.StopAccepting()
	harness.WaitFor(t, "no connection is open", func() bool { return set.Open() == 0 })
	if got := strings.Join(*log, ""); len(*log) != 1 || !strings.Contains(got, "peer=10.1.0.1:") || !strings.Contains(got, "no such file") {
		t.Errorf("got %d log lines, want one that names peer and cause:\n%s", len(*log), got)
	}
}

func TestLoopbackIsReachedFromOutsideByARedirectAlone(t *testing.T) {
	pod, _ := cabled(t)
	serveIn(t, pod, io.Discard, []string{"127.0.0.1:15001"})
	var answer []byte
	err := pod.Do(func() error {
		dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP("10.1.0.2")}}
		conn, err := dialer.Dial("tcp", "127.0.0.1:15001")
		if err != nil {
			return err
		}
		defer conn.Close()
		answer, err = io.ReadAll(conn)
		return err
	})
	if err != nil || len(answer) != 0 {
		t.Errorf("got %q, %v, want closed without an answer: its destination is not known", answer, err)
	}
}

func TestOtherErrorsCloseTheConnection(t *testing.T) {
	ours, theirs := connected(t)
	defer theirs.Close()
	ours.Close()
	var d destinations
	if dst, err := d.of(ours); !errors.Is(err, net.ErrClosed) {
		t.Errorf("got %v, %v, want %v", dst, err, net.ErrClosed)
	}
}
