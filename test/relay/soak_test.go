package relay

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"graylane/test/harness"
)

// shortSoak is how long the soak takes where GRAYLANE_SOAK does not say how long.
const shortSoak = 2 * time.Second

// TestSoak puts all kinds of traffic through the chain at once, while the policy changes. Every reply is checked; in the
// end no POST was executed twice or lost, and nothing is left behind.
func TestSoak(t *testing.T) {
	length := shortSoak
	if text := os.Getenv("GRAYLANE_SOAK"); text != "" {
		var err error
		length, err = time.ParseDuration(text)
		harness.Must(t, err)
	}
	const crowd = 24
	c := newChain(t, "")
	s := &soak{chain: c, executed: map[string]int{}, done: map[string]bool{}}
	c.origin.plays(t, s.play)
	near, far := goroutines(t, c.near), goroutines(t, c.far)

	end := time.Now().Add(length)
	var callers sync.WaitGroup
	for range crowd {
		callers.Go(func() {
			for time.Now().Before(end) && !t.Failed() {
				s.visit(t)
			}
		})
	}
	for generation := 0; time.Now().Before(end); generation++ {
		c.obey(t, fmt.Sprintf("rules: [{name: generation-%d, tag: gray, percent: %d, by: {header: X-User-Id}}]", generation, generation%100))
		<-time.After(50 * time.Millisecond)
	}
	callers.Wait()

	t.Logf("%d acts in %v", s.acts.Load(), time.Since(end)+length)
	for id := range s.done {
		if n := s.executed[id]; n != 1 {
			t.Errorf("POST %s was executed %d times", id, n)
		}
	}
	const spare = 8 // of the runtime and of the reader of this number
	took := harness.WaitFor(t, "near has no more goroutines than before", func() bool { return goroutines(t, c.near) <= near+spare })
	t.Logf("near is at rest after %v", took)
	c.near.Signal(t, syscall.SIGTERM) // it keeps connections to far
	c.near.Exit(t)
	took = harness.WaitFor(t, "far has no more goroutines than before", func() bool { return goroutines(t, c.far) <= far+spare })
	t.Logf("far is at rest after %v", took)
}

// goroutines is how many a sidecar has.
func goroutines(t testing.TB, s *harness.Sidecar) (n int) {
	t.Helper()
	_, page := harness.Page("http://" + s.Admin + "/debug/pprof/goroutine?debug=1")
	if _, err := fmt.Sscanf(page, "goroutine profile: total %d", &n); err != nil {
		t.Fatalf("%v in %.100q", err, page)
	}
	return n
}

// soak is the state of TestSoak.
type soak struct {
	*chain
	acts atomic.Int64

	mu       sync.Mutex
	executed map[string]int  // POSTs at the origin, by id
	done     map[string]bool // POSTs that were answered
}

// visit is one connection of a caller, with a few acts on it.
func (s *soak) visit(t *testing.T) {
	p := s.dial(t)
	defer p.Close()
	for range 1 + rand.IntN(20) {
		a := acts()[rand.IntN(len(acts()))]
		s.acts.Add(1)
		goesOn, err := a.play(s, p)
		if err != nil {
			t.Errorf("%s: %v", a.name, err)
		}
		if err != nil || !goesOn {
			return
		}
	}
}

// play is an origin that does what the path asks for.
func (s *soak) play(p *peer) {
	for {
		head := p.head()
		if head == "" {
			return
		}
		path := strings.Fields(head)[1]
		length, chunked := framing(head)
		switch path {
		case "/early":
			p.say(ok)
			p.bytes(length)
			continue
		case "/echo":
			body := p.chunks()
			p.say("HTTP/1.1 200 OK⏎Trailer: X-T⏎Transfer-Encoding: chunked⏎⏎" + body)
			continue
		case "/upgrade":
			p.say(switched)
			p.say(p.bytes(5))
			return
		}
		body := ""
		if chunked {
			body = p.chunks()
		} else if length > 0 {
			body = p.bytes(length)
		}
		switch path {
		case "/post":
			s.mu.Lock()
			s.executed[body]++
			s.mu.Unlock()
			p.say(ok)
		case "/last":
			p.say("HTTP/1.1 200 OK⏎Connection: close⏎Content-Length: 2⏎⏎ok")
			return
		case "/die":
			p.say("HTTP/1.1 200 OK⏎Content-Length: 100000⏎⏎" + strings.Repeat("x", 30000))
			return
		default:
			p.say(sized(path))
		}
	}
}

// sized is a reply whose body has as many bytes as the path says.
func sized(path string) string {
	var n int
	if _, err := fmt.Sscanf(path, "/%d", &n); err != nil {
		return "HTTP/1.1 404 Not Found⏎Content-Length: 0⏎⏎"
	}
	return fmt.Sprintf("HTTP/1.1 200 OK⏎Content-Length: %d⏎⏎%s", n, strings.Repeat("y", n))
}
