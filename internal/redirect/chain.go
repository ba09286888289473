package redirect

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/netip"
	"strings"

	"github.com/google/nftables"
	"golang.org/x/sys/unix"
)

// closed is what happens to a call to a port where nothing listens.
type closed bool

const (
	refuseClosed closed = false // the kernel refuses it, it never gets here
	acceptClosed closed = true  // the sidecar gets it
)

// chain is a chain of ours: the rules for one direction.
type chain struct {
	name  string
	hook  hook
	rules []rule
}

// hook is where in the kernel a chain sees packets.
type hook struct {
	name   string
	number nftables.ChainHook
}

var (
	prerouting = hook{"prerouting", unix.NF_INET_PRE_ROUTING}
	output     = hook{"output", unix.NF_INET_LOCAL_OUT}

	loopbackIPv4 = []netip.Prefix{netip.PrefixFrom(netip.AddrFrom4([4]byte{127}), 8)}
	loopbackIPv6 = []netip.Prefix{netip.PrefixFrom(netip.IPv6Loopback(), 128)}
)

// priority puts our chains before those that map a service's address to an
// endpoint (-100), so that the original destination is the one that the app
// named. nft has no name for it, so that every version prints the number.
const priority = -120

// rule leaves alone what all its matches have in common, or redirects it.
type rule struct {
	matches []match
	to      uint16 // port to redirect to; 0: leave alone
	comment string // at most 120 bytes
}

func (r Rules) chains(c closed) []chain {
	chains := []chain{
		{name: "inbound", hook: prerouting, rules: r.inbound(c)},
		{name: "outbound", hook: output, rules: r.outbound()},
	}
	stamp(chains)
	return chains
}

func (r Rules) inbound(c closed) []rule {
	rules := []rule{
		leave("loopback", equal(inputInterface, device("lo"))),
		leave("passes through this pod", differs(destinationType, local)),
	}
	rules = append(rules, r.Inbound.filter(inputInterface, sourceIPv4, sourceIPv6)...)
	redirect := rule{matches: []match{equal(protocol, tcp)}, to: r.Inbound.Port, comment: "inbound calls"}
	if c == refuseClosed {
		redirect.matches = append(redirect.matches, equal(transparent, no))
		redirect.comment = "inbound calls to where an app listens"
	}
	return append(rules, redirect)
}

func (r Rules) outbound() []rule {
	rules := []rule{
		leave("the sidecar itself", equal(user, uid(r.UID))),
		leave("loopback", within(destinationIPv4, prefixSet(loopbackIPv4))),
		leave("loopback", within(destinationIPv6, prefixSet(loopbackIPv6))),
	}
	rules = append(rules, r.Outbound.filter(outputInterface, destinationIPv4, destinationIPv6)...)
	return append(rules, rule{matches: []match{equal(protocol, tcp)}, to: r.Outbound.Port, comment: "outbound calls"})
}

// filter gives the rules that leave alone what Exclude has, and what Include has
// not.
func (s Side) filter(iface, addr4, addr6 field) []rule {
	const excluded, other = "excluded", "not included"
	var rules []rule
	for _, name := range s.Exclude.Interfaces {
		rules = append(rules, leave(excluded, equal(iface, device(name))))
	}
	if ports := s.Exclude.Ports; len(ports) > 0 {
		rules = append(rules, leave(excluded, within(destinationPort, portSet(ports))))
	}
	v4, v6 := split(s.Exclude.Peers)
	if len(v4) > 0 {
		rules = append(rules, leave(excluded, within(addr4, prefixSet(v4))))
	}
	if len(v6) > 0 {
		rules = append(rules, leave(excluded, within(addr6, prefixSet(v6))))
	}

	if names := s.Include.Interfaces; len(names) > 0 {
		var none []match
		for _, name := range names {
			none = append(none, differs(iface, device(name)))
		}
		rules = append(rules, leave(other, none...))
	}
	if ports := s.Include.Ports; len(ports) > 0 {
		rules = append(rules, leave(other, without(destinationPort, portSet(ports))))
	}
	if len(s.Include.Peers) == 0 {
		return rules
	}
	// A list of one family only includes nothing of the other.
	v4, v6 = split(s.Include.Peers)
	if len(v4) > 0 {
		rules = append(rules, leave(other, without(addr4, prefixSet(v4))))
	} else {
		rules = append(rules, leave(other, equal(family, ipv4)))
	}
	if len(v6) > 0 {
		rules = append(rules, leave(other, without(addr6, prefixSet(v6))))
	} else {
		rules = append(rules, leave(other, equal(family, ipv6)))
	}
	return rules
}

func leave(comment string, matches ...match) rule {
	return rule{matches: matches, comment: comment}
}

// stamp adds a digest of all rules to the comment of each last one, by which
// Check sees which rules are in force.
func stamp(chains []chain) {
	sum := sha256.Sum256([]byte(text(chains)))
	digest := hex.EncodeToString(sum[:6])
	for _, c := range chains {
		last := &c.rules[len(c.rules)-1]
		last.comment += ", rules " + digest
	}
}

// String gives the table as `nft list table inet graylane` shows it once it is
// installed. `nft -f` takes it too.
func (r Rules) String() string { return text(r.chains(refuseClosed)) }

func text(chains []chain) string {
	var b strings.Builder
	fmt.Fprintf(&b, "table inet %s {\n", Table)
	for i, c := range chains {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "\tchain %s {\n\t\ttype nat hook %s priority %d; policy accept;\n", c.name, c.hook.name, priority)
		for _, r := range c.rules {
			fmt.Fprintf(&b, "\t\t%s\n", r)
		}
		b.WriteString("\t}\n")
	}
	b.WriteString("}\n")
	return b.String()
}

func (r rule) String() string {
	var words []string
	for _, m := range r.matches {
		words = append(words, m.String())
	}
	if r.to == 0 {
		words = append(words, "accept")
	} else {
		words = append(words, fmt.Sprintf("redirect to :%d", r.to))
	}
	return strings.Join(append(words, fmt.Sprintf("comment %q", r.comment)), " ")
}
