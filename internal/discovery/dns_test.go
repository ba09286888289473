package discovery

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/dns/dnsmessage"

	"graylane/internal/upstream"
	"graylane/test/harness"
)

func ask1(t *testing.T, s Source) (addresses []string, ttl time.Duration, err error) {
	t.Helper()
	var ask question
	switch s := s.(type) {
	case *DNS:
		ask = func(ctx context.Context) ([]upstream.Target, time.Duration, error) {
			return s.ask(ctx, new([]netip.Addr))
		}
	case *SRV:
		ask = func(ctx context.Context) ([]upstream.Target, time.Duration, error) {
			return s.ask(ctx, new(map[string][]netip.Addr))
		}
	}
	targets, ttl, err := ask(t.Context())
	for _, target := range targets {
		text := target.Address
		if target.Weight != 1 {
			text += fmt.Sprintf(" weight %d", target.Weight)
		}
		addresses = append(addresses, text)
	}
	return addresses, ttl, err
}

func TestDNSFindsAllAddresses(t *testing.T) {
	server := newNameServer(t)
	server.host("users.shop.", 7, "10.0.0.2", "10.0.0.1", "fd00::1")
	server.host("four.shop.", 9, "10.0.0.3")
	server.set(func() {
		server.records["both.shop. A"] = []dnsmessage.Resource{{Header: header("both.shop.", 40), Body: &dnsmessage.AResource{A: [4]byte{10, 0, 0, 5}}}}
		server.records["both.shop. AAAA"] = []dnsmessage.Resource{{Header: header("both.shop.", 3), Body: &dnsmessage.AAAAResource{AAAA: [16]byte{0xfd, 15: 5}}}}
	})
	server.host("half.shop.", 9, "10.0.0.4")
	server.fail(dnsmessage.RCodeServerFailure, "half.shop. AAAA", "broken.shop. A", "broken.shop. AAAA")
	server.fail(dnsmessage.RCodeNameError, "gone.shop. A", "gone.shop. AAAA")
	server.fail(dnsmessage.RCodeServerFailure, "nothing.shop. AAAA")
	for _, c := range []struct {
		name string
		dns  DNS
		want []string
		ttl  time.Duration
		err  string
	}{
		{"both kinds", DNS{Host: "users.shop", Port: "80"}, []string{"10.0.0.1:80", "10.0.0.2:80", "[fd00::1]:80"}, 7 * time.Second, ""},
		{"both kinds: the lower TTL counts", DNS{Host: "both.shop"}, []string{"10.0.0.5", "[fd00::5]"}, 3 * time.Second, ""},
		{"without a port", DNS{Host: "users.shop."}, []string{"10.0.0.1", "10.0.0.2", "[fd00::1]"}, 7 * time.Second, ""},
		{"one kind: its TTL counts", DNS{Host: "four.shop", Port: "80"}, []string{"10.0.0.3:80"}, 9 * time.Second, ""},
		{"one kind, the other cannot be had", DNS{Host: "half.shop", Port: "80"}, []string{"10.0.0.4:80"}, 9 * time.Second, ""},
		{"no such name", DNS{Host: "gone.shop", Port: "80"}, nil, time.Minute, ""},
		{"no such name, needed", DNS{Host: "gone.shop", Port: "80", Needed: true}, nil, 0, "looking up gone.shop: the answer has no address"},
		{"no address", DNS{Host: "empty.shop", Port: "80"}, nil, time.Minute, ""},
		{"a failure", DNS{Host: "broken.shop", Port: "80"}, nil, 0, "it answered ServerFailure"},
		{"nothing of one kind, a failure of the other", DNS{Host: "nothing.shop", Port: "80"}, nil, 0, "it answered ServerFailure"},
		{"an IPv4 address", DNS{Host: "10.0.0.9", Port: "80"}, []string{"10.0.0.9:80"}, mostTTL, ""},
		{"an IPv6 address", DNS{Host: "fd00::9", Port: "80"}, []string{"[fd00::9]:80"}, mostTTL, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.dns.Resolver = server.resolver()
			got, ttl, err := ask1(t, &c.dns)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("got error %v, want %q", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(got, c.want); diff != "" || ttl != c.ttl {
				t.Errorf("got TTL %v, want %v; addresses (-got +want):\n%s", ttl, c.ttl, diff)
			}
		})
	}
}

func TestTheLeastTTLOfTheWayCounts(t *testing.T) {
	server := newNameServer(t)
	alias := dnsmessage.Resource{Header: header("www.shop.", 3), Body: &dnsmessage.CNAMEResource{CNAME: dnsmessage.MustNewName("users.shop.")}}
	target := dnsmessage.Resource{Header: header("users.shop.", 60), Body: &dnsmessage.AResource{A: [4]byte{10, 0, 0, 1}}}
	server.set(func() {
		server.records["www.shop. A"] = []dnsmessage.Resource{alias, target}
		server.records["www.shop. AAAA"] = []dnsmessage.Resource{alias}
	})
	got, ttl, err := ask1(t, &DNS{Host: "www.shop", Resolver: server.resolver()})
	if err != nil || ttl != 3*time.Second || !cmp.Equal(got, []string{"10.0.0.1"}) {
		t.Errorf("got %v for %v (%v), want 10.0.0.1 for 3s", got, ttl, err)
	}
}

func TestSRVFindsPortsAndWeightsOfTheFirstPriority(t *testing.T) {
	server := newNameServer(t)
	const name = "_http._tcp.users.shop."
	server.host("b.shop.", 30, "10.0.0.2", "fd00::2")
	server.host("a.shop.", 4, "10.0.0.1")
	server.host("c.shop.", 30, "10.0.0.3")
	server.service(name, 20, 1, 60, 8082, "b.shop.")
	server.service(name, 20, 1, 0, 8081, "a.shop.")
	server.service(name, 20, 2, 10, 8083, "c.shop.")
	server.service(name, 20, 1, 10, 8084, "gone.shop.")
	got, ttl, err := ask1(t, &SRV{Name: "_http._tcp.users.shop", Resolver: server.resolver()})
	want := []string{"10.0.0.1:8081", "10.0.0.2:8082 weight 60", "[fd00::2]:8082 weight 60"}
	if diff := cmp.Diff(got, want); diff != "" || err != nil || ttl != 4*time.Second {
		t.Errorf("got TTL %v (%v), want 4s; endpoints (-got +want):\n%s", ttl, err, diff)
	}

	server.fail(dnsmessage.RCodeServerFailure, "b.shop. A", "b.shop. AAAA")
	if _, _, err := ask1(t, &SRV{Name: name, Resolver: server.resolver()}); err == nil {
		t.Error("with one host that cannot be looked up there is no error")
	}

	server.service("_none._tcp.shop.", 20, 0, 0, 0, ".")
	if got, _, err := ask1(t, &SRV{Name: "_none._tcp.shop", Resolver: server.resolver()}); err != nil || got != nil {
		t.Errorf("a service that says it does not exist: got %v (%v), want none", got, err)
	}
	if _, _, err := ask1(t, &SRV{Name: "_none._tcp.shop", Resolver: server.resolver(), Needed: true}); err == nil {
		t.Error("a needed service that says it does not exist is no error")
	}
}

func TestDNSIsFollowedThroughChangesAndFailures(t *testing.T) {
	server := newNameServer(t)
	server.host("users.shop.", 1, "10.0.0.1")
	to := &sink{}
	start(t, &DNS{Host: "users.shop", Port: "80", Resolver: server.resolver()}, to)
	harness.WaitFor(t, "the first address", func() bool { return cmp.Equal(to.last(), []string{"10.0.0.1:80"}) })
	var changed string
	inTime(t, 2*time.Second, func(n int) { // TTL + 1 s
		changed = fmt.Sprintf("10.0.1.%d", n)
		server.host("users.shop.", 1, changed)
		harness.WaitFor(t, "the changed address", func() bool { return cmp.Equal(to.last(), []string{changed + ":80"}) })
	})
	server.fail(dnsmessage.RCodeServerFailure, "users.shop. A", "users.shop. AAAA")
	harness.WaitFor(t, "the failure", func() bool { _, errs := to.counts(); return errs > 0 })
	if diff := cmp.Diff(to.last(), []string{changed + ":80"}); diff != "" {
		t.Errorf("after a failure the addresses differ (-got +want):\n%s", diff)
	}
}

func TestAKindOfAddressesThatFailsKeepsWhatItHad(t *testing.T) {
	const name = "_http._tcp.users.shop."
	for _, c := range []struct {
		name   string
		source func(*Resolver) Source
		fail   func(*nameServer)
	}{
		{"a failure", func(r *Resolver) Source { return &DNS{Host: "users.shop", Port: "80", Resolver: r} }, func(s *nameServer) { s.fail(dnsmessage.RCodeServerFailure, "users.shop. A") }},
		{"silence", func(r *Resolver) Source { return &DNS{Host: "users.shop", Port: "80", Resolver: r} }, func(s *nameServer) { s.set(func() { s.silent["users.shop. A"] = true }) }},
		{"of a service", func(r *Resolver) Source { return &SRV{Name: name, Resolver: r} }, func(s *nameServer) { s.fail(dnsmessage.RCodeServerFailure, "users.shop. A") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server := newNameServer(t)
			server.host("users.shop.", 1, "10.0.0.1", "fd00::1")
			server.service(name, 1, 1, 1, 80, "users.shop.")
			to := &sink{}
			start(t, c.source(server.resolver()), to)
			harness.WaitFor(t, "both kinds", func() bool { return cmp.Equal(to.last(), []string{"10.0.0.1:80", "[fd00::1]:80"}) })
			c.fail(server)
			harness.WaitFor(t, "the failure", func() bool { _, errs := to.counts(); return errs > 0 })
			server.host("users.shop.", 1, "fd00::2")
			harness.WaitFor(t, "what the other kind says", func() bool { return cmp.Equal(to.last(), []string{"10.0.0.1:80", "[fd00::2]:80"}) })
		})
	}
}

func TestAKindOfAddressesThatIsNotAnsweredHoldsUpNobody(t *testing.T) {
	server := newNameServer(t)
	server.host("users.shop.", 1, "10.0.0.1")
	server.set(func() { server.silent["users.shop. AAAA"] = true })
	r := server.resolver()
	r.Timeout = time.Minute
	got, _, err := ask1(t, &DNS{Host: "users.shop", Port: "80", Resolver: r})
	if want := []string{"10.0.0.1:80"}; err != nil || !cmp.Equal(got, want) {
		t.Errorf("got %v, %v, want %v long before the server's time is over", got, err, want)
	}
}

func TestSourcesThatFindTheSameHaveTheSameName(t *testing.T) {
	for _, c := range []struct {
		a, b Source
		same bool
	}{
		{&DNS{Host: "a", Port: "1"}, &DNS{Host: "a", Port: "1"}, true},
		{&DNS{Host: "a", Port: "1"}, &DNS{Host: "a", Port: "2"}, false},
		{&DNS{Host: "a", Port: "1"}, &DNS{Host: "a", Port: "1", Needed: true}, false},
		{&SRV{Name: "a"}, &DNS{Host: "a"}, false},
		{&SRV{Name: "a"}, &SRV{Name: "a", Needed: true}, false},
		{&File{Path: "a"}, &File{Path: "a"}, true},
		{&File{Path: "a"}, &File{Path: "a", Labels: map[string]string{"x": ""}}, false},
		{&File{Path: "a", Labels: map[string]string{"x": "1", "y": "2"}}, &File{Path: "a", Labels: map[string]string{"y": "2", "x": "1"}}, true},
	} {
		if same := c.a.String() == c.b.String(); same != c.same {
			t.Errorf("%s and %s: got same %v, want %v", c.a, c.b, same, c.same)
		}
	}
}
