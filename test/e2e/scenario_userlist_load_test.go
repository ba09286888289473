package e2e

import (
	"fmt"
	"testing"

	"graylane/test/harness"
)

// userList is the policy of TestScenarioUserList with the callers' balancer in it.
const userList = `
rules:
  - name: gray-users
    tag: gray
    matches:
      - headers: [{name: X-User-Id, values: ["1", "2", "3", "4", "5", "6", "7", "8", "9", "10"]}]
services:
  - name: provider
    hosts: [provider]
    balance: {type: random}
    health: {path: /health, interval: 100ms}
    versions:
      - {tag: base, endpoints: [%s]}
      - {tag: gray, endpoints: ["{provider-gray-1}"]}
`

// TestScenarioUserListUnderLoad: the providers of TestScenarioUserList with weights, and killed and started again while
// users come.
func TestScenarioUserListUnderLoad(t *testing.T) {
	f := newFleet(t, "provider-base-1", "provider-gray-1", "provider-base-2", "provider-base-3")
	f.run(fmt.Sprintf(userList, `{address: "{provider-base-1}", weight: 1}, {address: "{provider-base-2}", weight: 2}, {address: "{provider-base-3}", weight: 0}`))
	consumer := f.calls("provider")
	user := func(i int) (*hop, error) { return consumer.send("", "X-User-Id", fmt.Sprint(1+i%30)) }
	others := func(i int) (*hop, error) { return consumer.send("", "X-User-Id", fmt.Sprint(11+i%20)) }

	assertShares(t, "weights of 1, 2 and 0", f.spread(1200, others), map[string]float64{"provider-base-1": 1, "provider-base-2": 2})
	f.change(fmt.Sprintf(userList, `{address: "{provider-base-1}", weight: 0}, {address: "{provider-base-2}", weight: 0}, {address: "{provider-base-3}", weight: 0}`))
	assertShares(t, "weights of 0 alone", f.spread(1200, others), parts("provider-base-1 provider-base-2 provider-base-3"))

	l := startLoad(func(worker, i int) (*hop, error) {
		answer, err := user(worker*1000 + i)
		if err == nil && answer.Tag == "gray" && (worker*1000+i)%30 >= 10 {
			return nil, fmt.Errorf("user %d is not on the list and was served by %s", 1+(worker*1000+i)%30, answer.Pod)
		}
		return answer, err
	})
	for _, name := range []string{"provider-gray-1", "provider-base-1"} {
		dead := f.instance(name)
		dead.app.Kill()
		harness.WaitFor(t, name+" is out", func() bool { s := f.endpoints()[name].State; return s == "out" || s == "doubt" })
		dead.restart(t)
		before := dead.number(t, "/requests")
		harness.WaitFor(t, name+" serves again", func() bool { return dead.number(t, "/requests") > before })
	}
	l.end(t)
	f.assertNoStrays()
	// While it was away, its users were served by the others.
	if n := f.sidecar.Metric(t, "graylane_fallback_total", `service="provider"`, `tag="gray"`); n == 0 {
		t.Error("graylane_fallback_total is 0, want the requests of the time without the gray provider")
	}
}
