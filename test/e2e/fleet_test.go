package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"graylane/test/harness"
)

// fleet is one sidecar, and instances of services that it sends requests to. The instances have no sidecars: what
// arrives at them is what the one sent.
type fleet struct {
	t         testing.TB
	policy    harness.PolicyFile
	sidecar   *harness.Sidecar
	instances []*instance
	strays    string // file that notes the requests with another tag that have reached tagged instances
}

// instance is one app at an address that stays when it is killed and started again.
type instance struct {
	*pod
	spec *app
}

// newFleet starts the instances, named "users-gray-2": service, tag and number. The sidecar starts with the first put.
func newFleet(t testing.TB, names ...string) *fleet {
	t.Helper()
	f := &fleet{t: t, policy: harness.PolicyFile(filepath.Join(t.TempDir(), "policy.yaml")), strays: filepath.Join(t.TempDir(), "strays")}
	for _, name := range names {
		parts := strings.Split(name, "-")
		i := &instance{
			&pod{name: name, service: parts[0], tag: parts[1], appAddress: harness.FreeAddress(t)},
			nil,
		}
		i.spec = &app{Service: i.service, Tag: i.tag, Pod: name, Listen: i.appAddress}
		if i.tag != "base" {
			i.spec.Strays = f.strays
		}
		f.instances = append(f.instances, i)
		i.start(t)
	}
	for _, i := range f.instances {
		i.waitApp(t)
	}
	return f
}

func (i *instance) start(t testing.TB) {
	t.Helper()
	i.app = startApp(t, i.spec)
}

func (i *instance) restart(t testing.TB) {
	t.Helper()
	i.start(t)
	i.waitApp(t)
}

// behave changes how the instance answers; "" makes it answer as it should.
func (i *instance) behave(t testing.TB, how string) {
	t.Helper()
	resp, err := http.Post("http://"+i.appAddress+"/behave?"+how, "", nil)
	harness.Must(t, err)
	harness.Must(t, resp.Body.Close())
}

// run starts the sidecar under a policy, in which a name in braces, {users-gray-2}, stands for that instance's address.
func (f *fleet) run(policy string, flags ...string) *fleet {
	f.t.Helper()
	f.policy.Write(f.t, f.text(policy))
	f.sidecar = harness.StartSidecar(f.t, "sidecar", string(f.policy), flags...).WaitReady(f.t)
	return f
}

// change puts another policy in force.
func (f *fleet) change(policy string) {
	f.t.Helper()
	text := f.text(policy)
	f.policy.Write(f.t, text)
	harness.WaitFor(f.t, "the policy is in force", func() bool { return f.sidecar.Policy(f.t).Digest == harness.Digest(text) })
}

func (f *fleet) text(policy string) string {
	for _, i := range f.instances {
		policy = strings.ReplaceAll(policy, "{"+i.name+"}", i.appAddress)
	}
	return "apiVersion: graylane.dev/v1\n" + policy
}

func (f *fleet) instance(name string) *instance {
	f.t.Helper()
	at := slices.IndexFunc(f.instances, func(i *instance) bool { return i.name == name })
	if at < 0 {
		f.t.Fatalf("there is no instance %s", name)
	}
	return f.instances[at]
}

// assertNoStrays reports the requests with another tag that have reached tagged instances.
func (f *fleet) assertNoStrays() {
	f.t.Helper()
	text, err := os.ReadFile(f.strays)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	harness.Must(f.t, err)
	if n := bytes.Count(text, []byte("\n")); n > 0 {
		f.t.Errorf("%d requests with another tag have reached tagged instances, the first: %.300s", n, text)
	}
}

// endpoint is what the admin port says of an instance.
type endpoint struct {
	Tag, Address, State, Why string
	InFlight                 int
}

func (f *fleet) endpoints() map[string]endpoint {
	f.t.Helper()
	var page struct{ Endpoints []endpoint }
	_, body := harness.Page("http://" + f.sidecar.Admin + "/endpoints?format=json")
	harness.Must(f.t, json.Unmarshal([]byte(body), &page))
	found := make(map[string]endpoint)
	for _, e := range page.Endpoints {
		for _, i := range f.instances {
			if i.appAddress == e.Address {
				found[i.name] = e
			}
		}
	}
	return found
}

// waitState returns when the sidecar sees the instance so.
func (f *fleet) waitState(name, state string) {
	f.t.Helper()
	harness.WaitWithin(f.t, 2*harness.Patience, name+" is "+state, func() bool { return f.endpoints()[name].State == state })
}

// calls is a client of the sidecar's app.
func (f *fleet) calls(host string) caller { return through(f.t, f.sidecar, host) }

// spread sends n requests at once from several workers and returns who served them.
func (f *fleet) spread(n int, send func(i int) (*hop, error)) map[string]int {
	f.t.Helper()
	names := make(chan string, n)
	harness.InParallel(f.t, n, func(i int) error {
		answer, err := send(i)
		if err == nil {
			names <- answer.Pod
		}
		return err
	})
	close(names)
	served := make(map[string]int)
	for name := range names {
		served[name]++
	}
	return served
}

// assertShares compares who served how many requests with the parts that each should have, by a chi-squared test that
// chance fails once in 10^9 runs: it takes some eighty of 900 requests at the wrong one of three. What has no part must have
// served none.
func assertShares(t testing.TB, what string, served map[string]int, parts map[string]float64) {
	t.Helper()
	total, sum := 0, 0.0
	for _, n := range served {
		total += n
	}
	for _, part := range parts {
		sum += part
	}
	chi := 0.0
	for name, part := range parts {
		want := float64(total) * part / sum
		chi += (float64(served[name]) - want) * (float64(served[name]) - want) / want
	}
	for name, n := range served {
		if parts[name] == 0 {
			t.Errorf("%s: %s served %d requests, want none", what, name, n)
		}
	}
	// What chance exceeds with a probability of 10^-9, for 1, 2, ... degrees of freedom.
	points := []float64{0, 37.32, 41.45, 44.84, 47.88, 50.69, 53.34}
	if chi > points[len(parts)-1] {
		t.Errorf("%s: %v is not spread as %v: chi-squared is %.1f, want at most %.1f", what, served, parts, chi, points[len(parts)-1])
	}
}

// load sends requests without a pause until end is called.
type load struct {
	stopped atomic.Bool
	workers sync.WaitGroup

	mu     sync.Mutex
	served map[string]int
	errs   []error
}

// startLoad has workers call send; the requests of one come one after the other.
func startLoad(send func(worker, i int) (*hop, error)) *load {
	l := &load{served: make(map[string]int)}
	for worker := range harness.Workers {
		l.workers.Go(func() {
			for i := 0; !l.stopped.Load(); i++ {
				l.note(send(worker, i))
			}
		})
	}
	return l
}

func (l *load) note(answer *hop, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.errs = append(l.errs, err)
		return
	}
	l.served[answer.Pod]++
}

// next returns who serves the next n requests or some more.
func (l *load) next(t testing.TB, n int) map[string]int {
	t.Helper()
	l.mu.Lock()
	before := maps.Clone(l.served)
	l.mu.Unlock()
	served := make(map[string]int)
	harness.WaitFor(t, fmt.Sprintf("%d requests are served", n), func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		total := 0
		for name, count := range l.served {
			served[name] = count - before[name]
			total += served[name]
		}
		return total >= n
	})
	return served
}

// end stops the load and reports what failed of it.
func (l *load) end(t testing.TB) map[string]int {
	t.Helper()
	l.stopped.Store(true)
	l.workers.Wait()
	total := 0
	for _, n := range l.served {
		total += n
	}
	t.Logf("%d requests were served: %v", total, l.served)
	if len(l.errs) > 0 {
		t.Errorf("%d of %d requests failed, the first: %v", len(l.errs), total+len(l.errs), l.errs[:min(3, len(l.errs))])
	}
	return l.served
}

// total of the instances with that tag.
func totalOf(served map[string]int, tag string) int {
	sum := 0
	for _, name := range slices.Collect(maps.Keys(served)) {
		if strings.Contains(name, "-"+tag) {
			sum += served[name]
		}
	}
	return sum
}
