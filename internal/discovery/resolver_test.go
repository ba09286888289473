package discovery

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/dns/dnsmessage"

	"graylane/test/harness"
)

func TestAnAnswerThatUDPCannotHoldComesByTCP(t *testing.T) {
	server := newNameServer(t)
	server.set(func() { server.large = true })
	var want []string
	for i := range 300 {
		want = append(want, fmt.Sprintf("10.0.%d.%d", i/256, i%256))
	}
	server.host("users.shop.", 7, want...)
	got, _, err := ask1(t, &DNS{Host: "users.shop", Resolver: server.resolver()})
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(got, want); diff != "" || err != nil {
		t.Errorf("%v; addresses (-got +want):\n%s", err, diff)
	}
}

func TestWhatIsNoReplyToTheQuestionIsPassedOver(t *testing.T) {
	server := newNameServer(t)
	server.set(func() { server.forged = true })
	server.host("users.shop.", 7, "10.0.0.1")
	got, _, err := ask1(t, &DNS{Host: "users.shop", Resolver: server.resolver()})
	if err != nil || !cmp.Equal(got, []string{"10.0.0.1"}) {
		t.Errorf("got %v (%v), want 10.0.0.1", got, err)
	}
}

func TestTheNextServerIsAskedWhenOneFails(t *testing.T) {
	broken, good := newNameServer(t), newNameServer(t)
	broken.fail(dnsmessage.RCodeRefused, "users.shop. A", "users.shop. AAAA")
	good.host("users.shop.", 7, "10.0.0.1")
	r := &Resolver{Servers: []string{harness.FreeAddress(t), broken.addr, good.addr}, File: "/nonexistent", Timeout: 10 * time.Second}
	got, _, err := ask1(t, &DNS{Host: "users.shop", Resolver: r})
	if err != nil || !cmp.Equal(got, []string{"10.0.0.1"}) {
		t.Errorf("got %v (%v), want 10.0.0.1", got, err)
	}
}

func TestAServerThatDoesNotAnswerIsAskedAgainAndThenGivenUp(t *testing.T) {
	server := newNameServer(t)
	server.set(func() { server.silent["users.shop."] = true })
	r := server.resolver()
	r.Timeout = time.Second
	_, _, err := ask1(t, &DNS{Host: "users.shop", Resolver: r})
	if err == nil || !strings.Contains(err.Error(), "deadline exceeded") {
		t.Errorf("got error %v, want a deadline", err)
	}
	// What came before another question has been read when that is answered.
	if _, _, err := ask1(t, &DNS{Host: "other.shop", Resolver: server.resolver()}); err != nil {
		t.Fatal(err)
	}
	asked := 0
	for _, question := range server.questions() {
		if strings.HasPrefix(question, "users.shop. ") {
			asked++
		}
	}
	if asked != 4 {
		t.Errorf("it was asked %d times, want twice for each kind of address", asked)
	}
}

func TestAQuestionEndsWithItsContext(t *testing.T) {
	server := newNameServer(t)
	server.set(func() { server.silent["users.shop."] = true })
	ctx, stop := context.WithCancel(t.Context())
	r := server.resolver()
	r.Timeout = time.Hour
	ended := make(chan error, 1)
	go func() {
		_, err := r.addresses(ctx, "users.shop.")
		ended <- err
	}()
	harness.WaitFor(t, "the question", func() bool { return len(server.questions()) > 0 })
	stop()
	if err := <-ended; err == nil {
		t.Error("got no error, want that of the context")
	}
}

func TestShortNamesAreSearched(t *testing.T) {
	server := newNameServer(t)
	server.host("users.shop.svc.cluster.local.", 7, "10.0.0.1")
	server.host("users.example.", 7, "10.0.0.2")
	server.host("other.shop.svc.cluster.local.", 7, "10.0.0.3")
	server.host("other.", 7, "10.0.0.4")
	file := filepath.Join(t.TempDir(), "resolv.conf")
	text := "# made by the kubelet\nsearch a.svc.cluster.local svc.cluster.local. example\nnameserver 10.96.0.10\noptions ndots:5 timeout:x\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	r := server.resolver()
	r.File = file
	for _, c := range []struct{ host, want string }{
		{"users.shop", "10.0.0.1"},
		{"users", "10.0.0.2"},
		{"other", "10.0.0.4"},
		{"users.example.", "10.0.0.2"},
		{"nobody.", ""},
	} {
		got, _, err := ask1(t, &DNS{Host: c.host, Resolver: r})
		if err != nil || strings.Join(got, " ") != c.want {
			t.Errorf("%s: got %v (%v), want %q", c.host, got, err, c.want)
		}
	}

	// A name that cannot be looked up now is not taken for another one.
	server.fail(dnsmessage.RCodeServerFailure, "other.svc.cluster.local. A", "other.svc.cluster.local. AAAA")
	if got, _, err := ask1(t, &DNS{Host: "other", Resolver: r}); err == nil {
		t.Errorf("got %v, want an error", got)
	}
}

func TestResolvConf(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       resolvConf
	}{
		{"nothing", "", resolvConf{[]string{"127.0.0.1:53"}, nil, 1, 5 * time.Second, 2}},
		{"all of it", "domain old.example\nsearch a.example. b.example\nnameserver 10.0.0.1\nnameserver fd00::1\noptions ndots:3 timeout:1 attempts:4 rotate\n",
			resolvConf{[]string{"10.0.0.1:53", "[fd00::1]:53"}, []string{"a.example", "b.example"}, 3, time.Second, 4}},
		{"beyond the limits", "nameserver 10.0.0.1\noptions ndots:99 timeout:0 attempts:99\n",
			resolvConf{[]string{"10.0.0.1:53"}, nil, 15, time.Second, 5}},
		{"nonsense", "nameserver\n; nameserver 10.0.0.2\noptions ndots: ndots:-1\nfoo bar\n", resolvConf{[]string{"127.0.0.1:53"}, nil, 1, 5 * time.Second, 2}},
	} {
		file := filepath.Join(t.TempDir(), "resolv.conf")
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		got := (&Resolver{File: file}).conf()
		if diff := cmp.Diff(*got, c.want, cmp.AllowUnexported(resolvConf{})); diff != "" {
			t.Errorf("%s: differs (-got +want):\n%s", c.name, diff)
		}
	}
}
