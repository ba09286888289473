package e2e

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"graylane/test/harness"
)

// requestsEnv is how many requests TestNoBaseRequestEverReachesGray sends. `make soak` sends a million; the default is
// for a change's way through CI.
const requestsEnv = "GRAYLANE_LEAK_REQUESTS"

func requestsWanted(t *testing.T) int {
	t.Helper()
	text := os.Getenv(requestsEnv)
	if text == "" {
		return 20_000
	}
	n, err := strconv.Atoi(text)
	harness.Must(t, err)
	return n
}

// TestNoBaseRequestEverReachesGray does everything to base and gray that can go wrong, while base requests come: to
// base alone at first, so that a gray that is well is there to be mistaken for it. Requests may fail; none may arrive at
// gray.
func TestNoBaseRequestEverReachesGray(t *testing.T) {
	f := newFleet(t, "users-base-1", "users-base-2", "users-gray-1", "users-gray-2")
	f.run(`
rules:
  - {name: testers, tag: gray, matches: [{headers: [{name: X-User-Id, value: "7"}]}]}
services:
  - name: users
    hosts: [users]
    balance: {type: least-request}
    health: {path: /health, interval: 50ms, timeout: 20ms, healthyAfter: 1, unhealthyAfter: 1}
    limit: {requests: 6, wait: 5ms}
    timeouts: {connect: 100ms, header: 100ms}
    versions:
      - {tag: base, endpoints: ["{users-base-1}", "{users-base-2}"]}
      - {tag: gray, endpoints: ["{users-gray-1}", "{users-gray-2}"]}
`)
	client := f.calls("users")
	var grayToo atomic.Bool
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		f.torment(stop, &grayToo)
	}()

	n := requestsWanted(t)
	answered := 0
	served := f.mixed(n, func(i int) (*hop, error) {
		if i == n/2 {
			grayToo.Store(true)
		}
		if i%10 == 0 {
			return client.send("", "X-User-Id", "7")
		}
		return client.send("")
	})
	close(stop)
	<-done
	for _, count := range served {
		answered += count
	}
	t.Logf("%d of %d requests were served: %v", answered, n, served)

	f.assertNoStrays()
	if totalOf(served, "gray") < n/20/2 || totalOf(served, "base") == 0 {
		t.Errorf("gray or base served next to nothing, so that nothing was tested: %v", served)
	}
}

// torment makes instances fail in every way, and heals them, until it is told to stop.
func (f *fleet) torment(stop <-chan struct{}, grayToo *atomic.Bool) {
	chance := rand.New(rand.NewPCG(1, 2))
	ways := []string{
		"", "", "status=500", "status=502", "status=503", "status=504", "health=503", "delay=30ms", "delay=200ms", "hang=true", "cut=true",
		"cut=true&health=500", "killed",
	}
	tick := time.NewTicker(40 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
		}
		how := ways[chance.IntN(len(ways))]
		for _, i := range f.instances {
			if i.app.Ended() && chance.IntN(5) == 0 {
				i.start(f.t)
			}
			if i.tag == "gray" && !grayToo.Load() {
				continue
			}
			if chance.IntN(3) > 0 {
				continue // now and then all of base, or all of gray, fail at once
			}
			if how == "killed" {
				i.app.Kill()
				continue
			}
			resp, err := http.Post("http://"+i.appAddress+"/behave?"+how, "", nil)
			if err == nil {
				_ = resp.Body.Close()
			}
		}
	}
}

// mixed is spread for requests that may fail.
func (f *fleet) mixed(n int, send func(i int) (*hop, error)) map[string]int {
	return f.spread(n, func(i int) (*hop, error) {
		if answer, err := send(i); err == nil {
			return answer, nil
		}
		return &hop{Pod: "nobody"}, nil
	})
}

// TestAKilledEndpointLosesNoRequest kills instances under load, each in turn, and starts them again. Every request is a
// GET, so that none may fail: what a dead instance leaves goes to another one.
func TestAKilledEndpointLosesNoRequest(t *testing.T) {
	f := newFleet(t, "users-base-1", "users-base-2", "users-base-3", "users-gray-1")
	f.run(`
rules:
  - {name: testers, tag: gray, matches: [{headers: [{name: X-User-Id, value: "7"}]}]}
services:
  - name: users
    hosts: [users]
    health: {path: /health, interval: 200ms, healthyAfter: 1}
    versions:
      - {tag: base, endpoints: ["{users-base-1}", "{users-base-2}", "{users-base-3}"]}
      - {tag: gray, endpoints: ["{users-gray-1}"]}
`)
	client := f.calls("users")
	l := startLoad(func(worker, _ int) (*hop, error) {
		if worker%4 == 0 {
			return client.send("", "X-User-Id", "7")
		}
		answer, err := client.send("")
		if err == nil && answer.Tag != "base" {
			return nil, fmt.Errorf("a base request was served by %s", answer.Pod)
		}
		return answer, err
	})
	for range 3 {
		for _, i := range f.instances {
			i.app.Kill()
			harness.WaitFor(t, i.name+" is out", func() bool {
				s := f.endpoints()[i.name].State
				return s == "out" || s == "doubt"
			})
			i.restart(t)
			before := i.number(t, "/requests")
			harness.WaitFor(t, i.name+" serves again", func() bool { return i.number(t, "/requests") > before })
		}
	}
	served := l.end(t)
	if totalOf(served, "gray") == 0 {
		t.Errorf("gray served nothing: %v", served)
	}
}
