package discovery

import (
	"context"
	"errors"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// names is a DNS whose answers a test changes.
type names struct {
	mu    sync.Mutex
	addrs map[string]string
	asked map[string]int
}

func (n *names) lookup(_ context.Context, host string) (found[netip.Addr], error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.asked == nil {
		n.asked = make(map[string]int)
	}
	n.asked[host]++
	addr, ok := n.addrs[host]
	if !ok {
		return found[netip.Addr]{}, errors.New("no such host")
	}
	return found[netip.Addr]{list: []netip.Addr{netip.MustParseAddr(addr)}}, nil
}

func (n *names) set(host, addr string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.addrs[host] = addr
}

func (n *names) times(host string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.asked[host]
}

func at(t *testing.T, o *Owners, addr, want string) {
	t.Helper()
	if got := o.At(netip.MustParseAddrPort(addr)); got != want {
		t.Errorf("%s: got service %q, want %q", addr, got, want)
	}
}

func shop() []Place {
	return []Place{
		{Service: "users", Names: []string{"users", "users.shop.svc.cluster.local:8080", "*.users", "10.1.0.2", "10.1.0.3:8080", "fd01::2", "[fd01::3]:80"}},
		{Service: "orders", Names: []string{"orders:80", "10.1.0.3:9090", "10.1.0.9"}},
		{Service: "copy", Names: []string{"10.1.0.9"}},
	}
}

func TestAddressesCountAtOnce(t *testing.T) {
	var o Owners
	at(t, &o, "10.1.0.2:80", "")
	o.Set(shop())
	at(t, &o, "10.1.0.2:80", "users")
	at(t, &o, "10.1.0.2:9999", "users")
	at(t, &o, "10.1.0.3:8080", "users")
	at(t, &o, "10.1.0.3:9090", "orders")
	at(t, &o, "10.1.0.3:80", "")
	at(t, &o, "[fd01::2]:80", "users")
	at(t, &o, "[fd01::3]:80", "users")
	at(t, &o, "[fd01::3]:81", "")
	at(t, &o, "10.1.0.9:80", "") // of two services
	at(t, &o, "10.1.0.77:80", "")
}

func TestNamesCountWhenTheyAreResolved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dns := &names{addrs: map[string]string{"users": "10.96.0.1", "orders": "10.96.0.2"}}
		o := &Owners{resolver: dns.lookup}
		o.Set(shop())
		go o.Run(t.Context())
		time.Sleep(10 * again) // the clock is fake
		if got := dns.times("users"); got != 0 {
			t.Fatalf("asked %d times before anybody wanted to know", got)
		}

		o.At(netip.MustParseAddrPort("10.96.0.1:80")) // somebody wants to know
		synctest.Wait()
		at(t, o, "10.96.0.1:80", "users")
		at(t, o, "10.96.0.2:80", "orders")
		at(t, o, "10.96.0.2:8080", "") // orders is port 80 alone

		// A name that comes later is found, with a growing pause.
		dns.set("users.shop.svc.cluster.local", "10.96.0.7")
		time.Sleep(2 * soon)
		synctest.Wait()
		at(t, o, "10.96.0.7:8080", "users")
		at(t, o, "10.96.0.7:80", "")

		// A name that moves is followed.
		dns.set("users", "10.96.0.8")
		time.Sleep(again)
		synctest.Wait()
		at(t, o, "10.96.0.8:80", "users")
		at(t, o, "10.96.0.1:80", "")
	})
}

func TestANameThatFailsKeepsItsAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dns := &names{addrs: map[string]string{"users": "10.96.0.1"}}
		o := &Owners{resolver: dns.lookup}
		o.Set([]Place{{Service: "users", Names: []string{"users"}}})
		go o.Run(t.Context())
		o.At(netip.MustParseAddrPort("10.96.0.1:80")) // somebody wants to know
		synctest.Wait()
		dns.mu.Lock()
		delete(dns.addrs, "users")
		dns.mu.Unlock()
		time.Sleep(3 * again)
		synctest.Wait()
		if got := dns.times("users"); got < 3 {
			t.Errorf("asked %d times, want 3 or more", got)
		}
		at(t, o, "10.96.0.1:80", "users")

		// A new policy keeps what is known of the names that stay.
		o.Set([]Place{{Service: "people", Names: []string{"users:80"}}})
		at(t, o, "10.96.0.1:80", "people")
		at(t, o, "10.96.0.1:81", "")
	})
}

func TestNamesThatNeverResolveAreAskedForLessAndLess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dns := &names{}
		o := &Owners{resolver: dns.lookup}
		o.Set([]Place{{Service: "users", Names: []string{"nowhere"}}})
		go o.Run(t.Context())
		at(t, o, "10.96.0.1:80", "")
		time.Sleep(time.Hour)
		synctest.Wait()
		if got := dns.times("nowhere"); got > 70 {
			t.Errorf("asked %d times in an hour, want about 60", got)
		}
	})
}

func TestAnAnswerDoesNotAllocate(t *testing.T) {
	var o Owners
	o.Set(shop())
	addr := netip.MustParseAddrPort("10.1.0.2:80")
	if got := testing.AllocsPerRun(100, func() { o.At(addr) }); got != 0 {
		t.Errorf("got %v allocations, want 0", got)
	}
}

func TestWhatSourcesFindBelongsToTheirService(t *testing.T) {
	var o Owners
	users, more, orders := o.Endpoints(), o.Endpoints(), o.Endpoints()
	users.Set(targetsOf("10.1.0.20:8080", "[fd01::20]:8080"))
	at(t, &o, "10.1.0.20:8080", "") // no policy names the source yet
	o.Set([]Place{
		{Service: "users", Names: []string{"10.1.0.2"}, Found: []*Endpoints{users, more}},
		{Service: "orders", Found: []*Endpoints{orders}},
	})
	at(t, &o, "10.1.0.20:8080", "users")
	at(t, &o, "[fd01::20]:8080", "users")
	at(t, &o, "10.1.0.20:80", "")
	at(t, &o, "10.1.0.2:80", "users")

	// A new set replaces the one before, and a failing source takes nothing away.
	users.Set(targetsOf("10.1.0.21"))
	more.Set(targetsOf("10.1.0.22"))
	users.Stale(errors.New("no answer"))
	at(t, &o, "10.1.0.20:8080", "")
	at(t, &o, "10.1.0.21:9999", "users")
	at(t, &o, "10.1.0.22:9999", "users")

	orders.Set(targetsOf("10.1.0.22"))
	at(t, &o, "10.1.0.22:80", "") // of two services
	orders.Set(targetsOf())
	at(t, &o, "10.1.0.22:80", "users")

	// What the policy in force does not name has no say.
	o.Set([]Place{{Service: "orders", Found: []*Endpoints{orders}}})
	users.Set(targetsOf("10.1.0.23"))
	at(t, &o, "10.1.0.23:80", "")
	at(t, &o, "10.1.0.21:80", "")
}

func TestANameThatASourceFindsIsResolvedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dns := &names{addrs: map[string]string{"pod-1": "10.1.0.31"}}
		o := &Owners{resolver: dns.lookup}
		found := o.Endpoints()
		o.Set([]Place{{Service: "users", Found: []*Endpoints{found}}})
		go o.Run(t.Context())
		at(t, o, "10.1.0.31:80", "")
		synctest.Wait()
		found.Set(targetsOf("pod-1:80"))
		synctest.Wait()
		at(t, o, "10.1.0.31:80", "users")
		at(t, o, "10.1.0.31:81", "")
	})
}
