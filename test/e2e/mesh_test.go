package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"graylane/test/harness"
)

// shape says which pods a mesh has. A service is called by the one named before it.
type shape struct {
	services []service
	rules    string   // head of the policy: everything but apiVersion and services
	forward  []string // headers that the apps hand on; none: traceparent
	flags    []string // of every sidecar
}

// service has one pod for each tag that is listed; a tag may come several times.
type service struct {
	name  string
	tags  []string
	edge  bool     // in the policy
	fresh bool     // its apps keep no connection
	flags []string // of its sidecars
}

// mesh is a running shape with an entry sidecar in front, which nothing but tests is beside.
type mesh struct {
	t      testing.TB
	shape  shape
	policy harness.PolicyFile
	entry  *harness.Sidecar
	pods   []*pod
}

// pod is an app and its sidecar.
type pod struct {
	name, service, tag string
	app                *harness.Process
	appAddress         string
	sidecar            *harness.Sidecar
}

// shop is the chain of three services that most tests use.
func shop(front, orders, users []string) []service {
	return []service{{name: "front", tags: front}, {name: "orders", tags: orders}, {name: "users", tags: users}}
}

var (
	both     = []string{"base", "gray"}
	baseOnly = []string{"base"}
)

// testers makes users 1, 2 and 3 gray.
const testers = `
rules:
  - name: testers
    tag: gray
    matches:
      - headers: [{name: X-User-Id, values: ["1", "2", "3"]}]
`

// newMesh starts everything and returns when all of it is ready.
func newMesh(t testing.TB, s shape) *mesh {
	t.Helper()
	if s.forward == nil {
		s.forward = []string{"traceparent"}
	}
	m := &mesh{t: t, shape: s, policy: harness.PolicyFile(filepath.Join(t.TempDir(), "policy.yaml"))}
	m.policy.Write(t, "") // the addresses come to be known below; sidecars wait for a first good policy
	m.entry = harness.StartSidecar(t, "entry", string(m.policy), s.flags...)
	for i, service := range s.services {
		for _, tag := range service.tags {
			m.startPod(i, tag)
		}
	}
	m.policy.Write(t, m.with(s.rules))
	m.entry.WaitReady(t)
	for _, p := range m.pods {
		p.sidecar.WaitReady(t)
		p.waitApp(t)
	}
	return m
}

func (m *mesh) startPod(i int, tag string) {
	m.t.Helper()
	s := m.shape.services[i]
	p := &pod{service: s.name, tag: tag, appAddress: harness.FreeAddress(m.t)}
	p.name = p.service + "-" + tag
	if same := len(m.podsOf(p.service, tag)); same > 0 {
		p.name += fmt.Sprintf("-%d", same+1)
	}
	flags := slices.Concat([]string{"--app", p.appAddress, "--service", p.service, "--tag", tag}, m.shape.flags, s.flags)
	p.sidecar = harness.StartSidecar(m.t, p.name+" sidecar", string(m.policy), flags...)
	a := &app{Service: p.service, Tag: tag, Pod: p.name, Listen: p.appAddress, Proxy: p.sidecar.Outbound, Forward: m.shape.forward, Fresh: s.fresh}
	if i+1 < len(m.shape.services) {
		a.Next = m.shape.services[i+1].name
	}
	p.app = startApp(m.t, a)
	m.pods = append(m.pods, p)
}

func startApp(t testing.TB, a *app) *harness.Process {
	t.Helper()
	spec, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return harness.Start(t, a.Pod+" app", []string{appEnv + "=" + string(spec)}, self)
}

func (p *pod) waitApp(t testing.TB) {
	t.Helper()
	harness.WaitFor(t, p.name+" app answers", func() bool {
		status, _ := harness.Page("http://" + p.appAddress + "/requests")
		return status == http.StatusOK
	})
}

// placement is a service as a policy lists it; place is a version of it.
type placement struct {
	service string
	hosts   []string
	edge    bool
	places  []place
}

type place struct {
	tag  string
	pods []*pod
}

// with is the policy of this mesh under other rules.
func (m *mesh) with(rules string) string { return placed(rules, m.placements()) }

// placements are the services of the mesh as it was started.
func (m *mesh) placements() []placement {
	var all []placement
	for _, s := range m.shape.services {
		p := placement{service: s.name, hosts: []string{s.name}, edge: s.edge}
		for _, tag := range slices.Compact(slices.Sorted(slices.Values(s.tags))) {
			p.places = append(p.places, place{tag, m.podsOf(s.name, tag)})
		}
		all = append(all, p)
	}
	return all
}

// placed is a policy with these rules and services.
func placed(rules string, services []placement) string {
	var b strings.Builder
	fmt.Fprintf(&b, "apiVersion: graylane.dev/v1\n%s\nservices:\n", strings.TrimSpace(rules))
	for _, s := range services {
		fmt.Fprintf(&b, "  - name: %s\n    hosts: [%s]\n", s.service, quoted(s.hosts))
		if s.edge {
			b.WriteString("    edge: true\n")
		}
		b.WriteString("    versions:\n")
		for _, v := range s.places {
			var addresses []string
			for _, p := range v.pods {
				addresses = append(addresses, p.sidecar.Inbound)
			}
			fmt.Fprintf(&b, "      - {tag: %s, endpoints: [%s]}\n", v.tag, quoted(addresses))
		}
	}
	return b.String()
}

func quoted(list []string) string {
	var all []string
	for _, item := range list {
		all = append(all, fmt.Sprintf("%q", item))
	}
	return strings.Join(all, ", ")
}

func (m *mesh) podsOf(service, tag string) []*pod {
	var found []*pod
	for _, p := range m.pods {
		if p.service == service && p.tag == tag {
			found = append(found, p)
		}
	}
	return found
}

// pod is the first pod of a version.
func (m *mesh) pod(service, tag string) *pod {
	m.t.Helper()
	found := m.podsOf(service, tag)
	if len(found) == 0 {
		m.t.Fatalf("the mesh has no pod %s-%s", service, tag)
	}
	return found[0]
}

// stop kills an app and its sidecar, as the loss of a machine does.
func (p *pod) stop() {
	p.sidecar.Kill()
	p.app.Kill()
}

func (m *mesh) sidecars() []*harness.Sidecar {
	all := []*harness.Sidecar{m.entry}
	for _, p := range m.pods {
		all = append(all, p.sidecar)
	}
	return all
}

// outside calls the first service the way a user outside would: by way of the entry sidecar.
func (m *mesh) outside() caller { return through(m.t, m.entry, m.shape.services[0].name) }

// change puts other rules in force.
func (m *mesh) change(rules string) {
	m.t.Helper()
	m.put(m.with(rules))
}

// put replaces the policy and returns when every sidecar obeys the new one.
func (m *mesh) put(policy string) {
	m.t.Helper()
	m.policy.Write(m.t, policy)
	for _, s := range m.sidecars() {
		harness.WaitFor(m.t, s.Name+" takes the new policy", func() bool { return s.Policy(m.t).Digest == harness.Digest(policy) })
	}
}

// requests is how many requests the apps of a version have served.
func (m *mesh) requests(tag string) int {
	m.t.Helper()
	sum := 0
	for _, p := range m.pods {
		if p.tag == tag {
			sum += p.number(m.t, "/requests")
		}
	}
	return sum
}

// number reads a page of the app, past its sidecar, that holds one number.
func (p *pod) number(t testing.TB, page string) int {
	t.Helper()
	var n int
	status, body := harness.Page("http://" + p.appAddress + page)
	if _, err := fmt.Sscan(body, &n); err != nil {
		t.Fatalf("%s of %s: status %d: %s", page, p.name, status, body)
	}
	return n
}
