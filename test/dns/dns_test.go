package dns

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"graylane/test/harness"
)

func base(i instances) string {
	return fmt.Sprintf("    versions: [{tag: base, dns: \"users.shop:%s\"}]\n", i.port)
}

func TestAllAddressesAreUsed(t *testing.T) {
	i := newInstances(t, "127.0.0.2", "127.0.0.3", "::1")
	s := newNameServer(t, []string{"127.0.0.2 users.shop", "127.0.0.3 users.shop", "::1 users.shop"})
	got := newPod(t, s, base(i)).knowing(3).served(30)
	for _, host := range []string{"127.0.0.2", "127.0.0.3", "::1"} {
		if got[host] != 10 {
			t.Errorf("%s served %d of 30, want 10: %v", host, got[host], got)
		}
	}
}

func TestAChangedAddressIsUsedWithinTTLAndASecond(t *testing.T) {
	i := newInstances(t, "127.0.0.2", "127.0.0.3")
	s := newNameServer(t, []string{"127.0.0.2 users.shop"})
	p := newPod(t, s, base(i))
	host, next := "127.0.0.2", "127.0.0.3"
	for range 3 {
		harness.Once(t, func() error {
			host, next = next, host
			s.change(host + " users.shop")
			took := harness.WaitFor(t, host+" is used", func() bool { return p.served(1)[host] == 1 })
			if got := p.served(20); got[host] != 20 {
				t.Errorf("after the change requests are served by %v, want %s", got, host)
			}
			if most := (ttl + 1) * time.Second; took > most {
				return fmt.Errorf("%s was used after %v, want TTL + 1 s at most, %v", host, took, most)
			}
			return nil
		})
	}
}

// TestAnAddressThatIsGoneIsAskedForAtOnce has records that are good for an hour, as
// those of a rolling update may as well be: it is over before they are.
func TestAnAddressThatIsGoneIsAskedForAtOnce(t *testing.T) {
	i := newInstances(t, "127.0.0.3")
	s := newNameServer(t, []string{"127.0.0.2 users.shop"}, "--local-ttl=3600")
	p := newPod(t, s, base(i))
	if _, err := p.ask(); err == nil {
		t.Fatal("somebody answers at 127.0.0.2, want nobody")
	}
	s.change("127.0.0.3 users.shop")
	harness.WaitFor(t, "127.0.0.3 is used", func() bool { by, err := p.ask(); return err == nil && by == "127.0.0.3" })
}

func TestADeadAddressOfThreeCostsOneConnectTimeoutOnce(t *testing.T) {
	const connect = 400 * time.Millisecond
	i := newInstances(t, "127.0.0.2", "127.0.0.3")
	i.blackHole(t, "127.0.0.4")
	s := newNameServer(t, []string{"127.0.0.2 users.shop", "127.0.0.3 users.shop", "127.0.0.4 users.shop"})
	harness.Once(t, func() error {
		p := newPod(t, s, fmt.Sprintf("    timeouts: {connect: %v}\n%s", connect, base(i))).knowing(3)
		var slow []time.Duration
		for begin := time.Now(); time.Since(begin) < 10*connect; {
			asked := time.Now()
			if _, err := p.ask(); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(asked); took > connect*9/10 { // less is a machine that is busy
				slow = append(slow, took)
			}
		}
		if len(slow) != 1 || slow[0] > 2*connect {
			return fmt.Errorf("requests that waited for the dead address: %v, want one of about %v", slow, connect)
		}
		return nil
	})
}

func TestWhatIsNotAnsweredStaysAsItWas(t *testing.T) {
	i := newInstances(t, "127.0.0.2", "127.0.0.3")
	s := newNameServer(t, []string{"127.0.0.2 users.shop"})
	p := newPod(t, s, base(i))

	for _, c := range []struct {
		name string
		fail func() (heal func())
	}{
		{"SERVFAIL", s.fail},
		{"no answer", func() func() {
			s.process.Signal(t, syscall.SIGSTOP)
			return func() { s.process.Signal(t, syscall.SIGCONT) }
		}},
		{"nobody there", func() func() {
			s.process.Kill()
			return s.start
		}},
		{"no such name", func() func() { // base has nothing to fall back to
			s.change()
			return func() { s.change("127.0.0.2 users.shop") }
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			heal := c.fail()
			harness.WaitWithin(t, 2*harness.Patience, "the sidecar says that it goes by what it knew", p.stale)
			if got := p.served(20); got["127.0.0.2"] != 20 {
				t.Errorf("meanwhile requests are served by %v", got)
			}
			heal()
			harness.WaitWithin(t, 2*harness.Patience, "the sidecar knows again", func() bool { return !p.stale() })
		})
	}
	if text := p.sidecar.Log.String(); strings.Count(text, "source of endpoints fails") != 4 {
		t.Errorf("the log says %d times that the source fails, want once each time", strings.Count(text, "source of endpoints fails"))
	}
}

func TestAGrayNameThatIsGoneFallsBack(t *testing.T) {
	i := newInstances(t, "127.0.0.2", "127.0.0.3")
	s := newNameServer(t, []string{"127.0.0.2 users.shop", "127.0.0.3 users-gray.shop"})
	p := newPod(t, s, fmt.Sprintf("    versions: [{tag: base, dns: \"users.shop:%[1]s\"}, {tag: gray, dns: \"users-gray.shop:%[1]s\"}]\n", i.port))
	served := func() string {
		by, err := p.ask("X-Gray", "gray")
		if err != nil {
			t.Fatal(err)
		}
		return by
	}
	if got := served(); got != "127.0.0.3" {
		t.Fatalf("a gray request is served by %s, want gray, 127.0.0.3", got)
	}
	s.change("127.0.0.2 users.shop")
	harness.WaitFor(t, "gray requests are served by base", func() bool { return served() == "127.0.0.2" })
	harness.WaitFor(t, "a fallback is counted as no_endpoint", func() bool {
		return p.sidecar.Metric(t, "graylane_fallback_total", `reason="no_endpoint"`) > 0
	})
	s.change("127.0.0.2 users.shop", "127.0.0.3 users-gray.shop")
	harness.WaitFor(t, "gray requests are served by gray", func() bool { return served() == "127.0.0.3" })
}

func TestServiceRecordsSayPortsAndWeights(t *testing.T) {
	one, two, spare := newInstances(t, "127.0.0.2"), newInstances(t, "127.0.0.3"), newInstances(t, "127.0.0.4")
	record := func(host string, i instances, priority, weight int) string {
		return fmt.Sprintf("--srv-host=_http._tcp.users.shop,%s.shop,%s,%d,%d", host, i.port, priority, weight)
	}
	s := newNameServer(t, []string{"127.0.0.2 one.shop", "127.0.0.3 two.shop", "127.0.0.4 spare.shop"},
		record("one", one, 1, 30), record("two", two, 1, 10), record("spare", spare, 2, 10))
	got := newPod(t, s, "    versions: [{tag: base, dnsSRV: _http._tcp.users.shop}]\n").knowing(2).served(40)
	if got["127.0.0.2"] != 30 || got["127.0.0.3"] != 10 {
		t.Errorf("40 requests are served by %v, want 30 by 127.0.0.2 and 10 by 127.0.0.3", got)
	}
}
