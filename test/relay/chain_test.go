package relay

import (
	"fmt"
	"path/filepath"
	"testing"

	"graylane/test/harness"
)

// chain is the way of a request: a caller, the outbound of the near sidecar, the inbound of the far one, an origin.
type chain struct {
	near, far *harness.Sidecar
	origin    *origin
	policy    harness.PolicyFile
	timeouts  string // of the service, as the policy writes them
}

// newChain starts both sidecars under a policy with the given rules; the flags are for both. The service that callers
// reach over the chain is called shop.
func newChain(t testing.TB, rules string, flags ...string) *chain {
	t.Helper()
	c := &chain{origin: listen(t), policy: harness.PolicyFile(filepath.Join(t.TempDir(), "policy.yaml"))}
	c.policy.Write(t, "") // the address of far comes to be known below
	c.far = harness.StartSidecar(t, "far", string(c.policy), append(flags, "--app", c.origin.address(), "--service", "shop")...)
	c.near = harness.StartSidecar(t, "near", string(c.policy), flags...)
	c.obey(t, rules)
	c.far.WaitReady(t)
	c.near.WaitReady(t)
	return c
}

// obey puts a policy with other rules into the file.
func (c *chain) obey(t testing.TB, rules string) {
	t.Helper()
	c.policy.Write(t, fmt.Sprintf(`apiVersion: graylane.dev/v1
%s
services:
  - name: shop
    hosts: [shop, "other:81"]
    timeouts: {%s}
    versions:
      - {tag: base, endpoints: [%q]}
`, rules, c.timeouts, c.far.Inbound))
}

// dial is a caller's new connection.
func (c *chain) dial(t testing.TB) *peer {
	t.Helper()
	return dial(t, c.near.Outbound)
}

// ask sends one message to an origin that answers everything with reply. It returns what the origin heard, without
// what the sidecars add, and what the caller got.
func (c *chain) ask(t testing.TB, request, reply string) (heard, got string) {
	t.Helper()
	messages := c.answers(t, reply)
	p := c.dial(t)
	p.say(request)
	got = p.reply(methodOf(request))
	return unmarked(<-messages), got
}

// always answers every message with reply.
func always(reply string) func(p *peer) {
	return func(p *peer) {
		for p.message() != "" {
			p.say(reply)
		}
	}
}

// answers is always for tests that want to know what the origin heard, of 100 messages at most.
func (c *chain) answers(t testing.TB, reply string) <-chan string {
	t.Helper()
	messages := make(chan string, 100)
	c.origin.plays(t, func(p *peer) {
		for m := p.message(); m != ""; m = p.message() {
			messages <- m
			p.say(reply)
		}
	})
	return messages
}
