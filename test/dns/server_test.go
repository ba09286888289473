package dns

import (
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"graylane/test/harness"
)

// ttl of all records, in seconds, if the options say no other.
const ttl = 2

// nameServer is dnsmasq on loopback, with the hosts of a file that the test changes.
type nameServer struct {
	t       testing.TB
	addr    string
	hosts   string // path of the file
	options []string
	process *harness.Process
}

// newNameServer starts one that knows these hosts: "127.0.0.2 users.shop".
func newNameServer(t testing.TB, hosts []string, options ...string) *nameServer {
	t.Helper()
	s := &nameServer{t: t, addr: harness.FreeAddress(t), hosts: filepath.Join(t.TempDir(), "hosts"), options: options}
	s.write(hosts)
	s.start()
	return s
}

func (s *nameServer) start() {
	s.t.Helper()
	_, port, err := net.SplitHostPort(s.addr)
	harness.Must(s.t, err)
	args := append([]string{
		"--keep-in-foreground", "--conf-file=/dev/null", "--no-resolv", "--no-hosts", "--no-daemon", "--log-facility=-",
		"--listen-address=127.0.0.1", "--bind-interfaces", "--port=" + port, "--user=root",
		"--addn-hosts=" + s.hosts, fmt.Sprintf("--neg-ttl=%d", ttl), "--local=/shop/",
	}, s.options...)
	if !slices.ContainsFunc(s.options, func(o string) bool { return strings.HasPrefix(o, "--local-ttl=") }) {
		args = append(args, fmt.Sprintf("--local-ttl=%d", ttl))
	}
	s.process = harness.Start(s.t, "dnsmasq", nil, "dnsmasq", args...)
	harness.WaitFor(s.t, "dnsmasq has read its hosts", func() bool {
		if s.process.Ended() {
			s.t.Fatal("dnsmasq ended; .ci/run installs it (Debian: dnsmasq-base)")
		}
		return strings.Contains(s.process.Log.String(), "read "+s.hosts)
	})
}

func (s *nameServer) write(hosts []string) {
	s.t.Helper()
	harness.WriteFile(s.t, s.hosts, strings.Join(hosts, "\n")+"\n")
}

// change makes these the hosts that it knows.
func (s *nameServer) change(hosts ...string) {
	s.t.Helper()
	s.write(hosts)
	s.process.Signal(s.t, syscall.SIGHUP)
}

// fail ends dnsmasq, and has every question answered SERVFAIL until heal is called.
func (s *nameServer) fail() (heal func()) {
	s.t.Helper()
	s.process.Kill()
	conn, err := net.ListenPacket("udp", s.addr)
	harness.Must(s.t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 1<<12)
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			const isReply, servFail = 0x80, 2 // RFC 1035, section 4.1.1
			buf[2] |= isReply
			buf[3] = buf[3]&0xf0 | servFail
			_, _ = conn.WriteTo(buf[:n], from) // who is gone needs none
		}
	}()
	return func() {
		s.t.Helper()
		harness.Must(s.t, conn.Close())
		<-done
		s.start()
	}
}
