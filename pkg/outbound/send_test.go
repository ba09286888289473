package outbound_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"graylane/test/harness"
)

// serviceOf is a policy for one service, users, with these endpoints of base and
// of gray, and further keys.
func serviceOf(keys string, base, gray []string) string {
	quoted := func(list []string) string {
		if list == nil {
			return "[]"
		}
		return `["` + strings.Join(list, `", "`) + `"]`
	}
	return fmt.Sprintf(`
apiVersion: graylane.dev/v1
services:
  - name: users
    versions: [{tag: base, endpoints: %s}, {tag: gray, endpoints: %s}]
%s`, quoted(base), quoted(gray), keys)
}

// cutting is an address that takes a request and closes the connection without
// a reply, as a process does that is killed.
func cutting(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Read(make([]byte, 1<<10))
			conn.Close()
		}
	}()
	return l.Addr().String()
}

// appless is the address of a sidecar whose app is away.
func appless(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Connection", "graylane-unsent")
		w.WriteHeader(http.StatusBadGateway)
	}))
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

func TestAnyRequestTriesAnotherEndpointIfNothingReachedTheApp(t *testing.T) {
	base, gray := newOrigin(t, "base"), newOrigin(t, "gray")
	tests := []struct {
		base, gray []string
		want       string
	}{
		{[]string{base.addr}, []string{appless(t), gray.addr}, "200 gray"},
		{[]string{base.addr}, []string{appless(t)}, "200 base"},
		{[]string{appless(t)}, []string{appless(t)}, "503 unavailable"},
	}
	for _, tt := range tests {
		p := newPod(t, serviceOf("", tt.base, tt.gray))
		for range 5 {
			status, by := p.send(t, http.MethodPost, "http://users/", "X-Gray", "gray")
			if got := fmt.Sprint(status, " ", by); got != tt.want {
				t.Errorf("base %v and gray %v: got %s, want %s", tt.base, tt.gray, got, tt.want)
			}
		}
	}
}

func TestARequestTriesAnotherEndpointOfItsVersionFirst(t *testing.T) {
	base, gray := newOrigin(t, "base"), newOrigin(t, "gray")
	for _, bad := range []string{harness.FreeAddress(t), cutting(t)} {
		p := newPod(t, serviceOf("", []string{base.addr}, []string{bad, gray.addr}))
		for range 10 {
			if status, by := p.get(t, "http://users/", "X-Gray", "gray"); status != 200 || by != "gray" {
				t.Fatalf("got %d by %s, want 200 by gray", status, by)
			}
		}
	}
}

func TestAGrayThatDiesUnderARequestFallsBack(t *testing.T) {
	base := newOrigin(t, "base")
	p := newPod(t, serviceOf("", []string{base.addr}, []string{cutting(t)}))
	for range 5 {
		if status, by := p.get(t, "http://users/", "X-Gray", "gray"); status != 200 || by != "base" {
			t.Fatalf("got %d by %s, want 200 by base", status, by)
		}
	}
}

func TestAPOSTThatMayHaveBeenServedIsNotSentAgain(t *testing.T) {
	base := newOrigin(t, "base")
	p := newPod(t, serviceOf("", []string{base.addr}, []string{cutting(t)}))
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://users/", strings.NewReader("pay"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Gray", "gray")
	resp, err := p.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusBadGateway || base.hits.Load() != 0 {
		t.Errorf("got %d with %d requests at base, want 502 with none", resp.StatusCode, base.hits.Load())
	}
}

func TestTheCallerHearsWhatBecameOfARequestThatReachedAnEndpoint(t *testing.T) {
	for address, want := range map[string]string{cutting(t): "502 origin_closed", harness.FreeAddress(t): "503 unavailable"} {
		p := newPod(t, serviceOf("", []string{address}, []string{address}))
		for _, tag := range []string{"base", "gray"} {
			status, reason := p.get(t, "http://users/", "X-Gray", tag)
			if got := fmt.Sprint(status, " ", reason); got != want {
				t.Errorf("%s: got %s, want %s", tag, got, want)
			}
		}
	}
}

func TestWithoutRetriesOneEndpointIsTried(t *testing.T) {
	base := newOrigin(t, "base")
	p := newPod(t, serviceOf("    retry: {attempts: 0}\n", []string{base.addr, harness.FreeAddress(t)}, nil))
	failed := 0
	for range 10 {
		if status, _ := p.get(t, "http://users/"); status != 200 {
			failed++
		}
	}
	if failed != 1 {
		t.Errorf("%d of 10 requests failed, want the one that found the endpoint dead", failed)
	}
}

func TestOverTheLimitIs503AndNotAnotherVersion(t *testing.T) {
	slow := newSlowOrigin(t)
	gray, base := newOrigin(t, "gray"), newOrigin(t, "base")
	p := newPod(t, serviceOf("    limit: {requests: 1, wait: 10ms}\n", []string{slow.addr}, []string{gray.addr}))
	first := make(chan int)
	go func() {
		status, _ := p.get(t, "http://users/")
		first <- status
	}()
	<-slow.busy
	start := time.Now()
	if status, by := p.get(t, "http://users/"); status != 503 || by != "overloaded" {
		t.Errorf("a second request: got %d by %s, want 503 by overloaded", status, by)
	}
	if took := time.Since(start); took < 10*time.Millisecond {
		t.Errorf("the second request was refused after %v, want it to wait for 10ms", took)
	}
	close(slow.answer)
	if status := <-first; status != 200 {
		t.Errorf("the first request: got %d, want 200", status)
	}
	if gray.hits.Load()+base.hits.Load() != 0 {
		t.Error("a request went to another version")
	}
}

func TestACallerThatLeavesDoesNotWaitForRoom(t *testing.T) {
	slow, gray := newSlowOrigin(t), newOrigin(t, "gray")
	p := newPod(t, serviceOf("    limit: {requests: 1, wait: 1m}\n", []string{slow.addr}, []string{gray.addr}))
	first := make(chan int)
	go func() {
		status, _ := p.get(t, "http://users/")
		first <- status
	}()
	<-slow.busy
	conn, err := net.Dial("tcp", serve(t, p.Outbound))
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(conn, "GET http://users/ HTTP/1.1\r\nHost: users\r\n\r\n")
	conn.Close()
	harness.WaitFor(t, "nobody waits for a caller that has left", func() bool {
		return strings.Contains(scrape(p.Metrics), `error="caller_gone"} 1`)
	})
	close(slow.answer)
	if status := <-first; status != 200 || gray.hits.Load() != 0 {
		t.Errorf("the first request: got %d, and %d requests went to gray, want 200 and none", status, gray.hits.Load())
	}
}

// slowOrigin answers when it is told to.
type slowOrigin struct {
	addr   string
	busy   chan struct{} // gets one value a request
	answer chan struct{} // closed: answer
}

func newSlowOrigin(t *testing.T) *slowOrigin {
	t.Helper()
	o := &slowOrigin{busy: make(chan struct{}, 10), answer: make(chan struct{})}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o.addr = l.Addr().String()
	server := &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		o.busy <- struct{}{}
		<-o.answer
	})}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { server.Close() })
	return o
}

func TestAKeyStaysAtItsEndpoint(t *testing.T) {
	one, two, three := newOrigin(t, "one"), newOrigin(t, "two"), newOrigin(t, "three")
	p := newPod(t, serviceOf("    balance: {type: hash, by: {header: X-User-Id}}\n",
		[]string{one.addr, two.addr, three.addr}, nil))
	served := map[string]bool{}
	for user := range 30 {
		var before string
		for range 3 {
			_, by := p.get(t, "http://users/", "X-User-Id", fmt.Sprint(user))
			if before != "" && by != before {
				t.Fatalf("user %d was served by %s and then by %s", user, before, by)
			}
			before = by
		}
		served[before] = true
	}
	if len(served) != 3 {
		t.Errorf("30 users were served by %d endpoints, want all 3", len(served))
	}
	served = map[string]bool{}
	for range 30 {
		_, by := p.get(t, "http://users/")
		served[by] = true
	}
	if len(served) != 3 {
		t.Errorf("requests without a key were served by %d endpoints, want all 3", len(served))
	}
}

// TestARequestThatKillsAppsDoesNotGetToAllOfThem has three gray and three base apps, each of which dies of the request.
func TestARequestThatKillsAppsDoesNotGetToAllOfThem(t *testing.T) {
	var killed atomic.Int64
	dying := func() string {
		server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			killed.Add(1)
			panic(http.ErrAbortHandler)
		}))
		t.Cleanup(server.Close)
		return server.Listener.Addr().String()
	}
	for _, c := range []struct {
		retry string
		want  int64
	}{
		{"", 3}, // two retries are the default
		{"retry: {attempts: 0}", 2},
	} {
		killed.Store(0)
		p := newPod(t, serviceOf("    "+c.retry+"\n", []string{dying(), dying(), dying()}, []string{dying(), dying(), dying()}))
		if status, by := p.send(t, http.MethodGet, "http://users/", "X-Gray", "gray"); status != 502 || by != "origin_closed" {
			t.Errorf("%q: got %d by %s, want 502 by origin_closed", c.retry, status, by)
		}
		if got := killed.Load(); got != c.want {
			t.Errorf("%q: it got to %d apps, want %d", c.retry, got, c.want)
		}
	}
}
