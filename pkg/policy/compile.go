package policy

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"strings"
)

// compiler turns a Spec into a Policy. It goes on after a fault, so that all
// of them are known at once.
type compiler struct {
	*report
	policy   *Policy
	lists    *lists
	sources  map[sourceKey]int
	drafts   []draft // values that conditions name, in the order of the conditions
	conds    int     // conditions so far
	patterns int     // regular expressions so far
}

// compile returns the policy that spec states. It is of use only where the
// report stays without faults.
func compile(spec *Spec, root place, rep *report, files *lists) *Policy {
	c := &compiler{report: rep, lists: files, sources: map[sourceKey]int{}, policy: &Policy{
		Enabled:       spec.Enabled == nil || *spec.Enabled,
		FirstMatch:    spec.Decide == "first-match",
		AcceptHeaders: spec.AcceptHeaders,
		HeaderValues:  spec.HeaderValues,
		HeaderWords:   map[string]string{},
		tags:          map[string]string{Base: Base, Gray: Gray},
		names:         map[string]*Service{},
	}}
	c.headers(spec, root)
	c.policy.trust = c.trust(spec, root)
	c.policy.untrusted = c.nets(spec.Untrusted, root.key("untrusted"))
	c.services(spec.Services, root.key("services"))
	c.routes(spec.Routes, root.key("routes"))
	c.rules(spec.Rules, root.key("rules"))
	c.headerWords(root)
	c.finish(root)
	return c.policy
}

// headers checks the names of the tag header.
func (c *compiler) headers(spec *Spec, root place) {
	c.policy.Header = spec.Header
	if !root.has("header") {
		c.policy.Header = "X-Gray"
	} else {
		c.tagHeader(spec.Header, root.key("header"))
	}
	at := root.key("acceptHeaders")
	for i, name := range spec.AcceptHeaders {
		c.tagHeader(name, at.item(i))
		if strings.EqualFold(name, c.policy.Header) {
			c.add(at.item(i), "%s is the tag header already", quote(name))
		}
	}
}

func (c *compiler) tagHeader(name string, at place) {
	switch {
	case !isToken(name):
		c.add(at, "%s, want the name of a header", quote(name))
	case reserved(name):
		c.add(at, "%s has another meaning in HTTP or tracing, want a name of your own such as X-Gray", quote(name))
	}
}

// trust returns the networks whose tags are believed.
func (c *compiler) trust(spec *Spec, root place) []netip.Prefix {
	if root.has("trust") {
		return c.nets(spec.Trust, root.key("trust"))
	}
	nets := make([]netip.Prefix, len(defaultTrust))
	for i, text := range defaultTrust {
		nets[i] = netip.MustParsePrefix(text)
	}
	return nets
}

// defaultTrust is every address that is not routed on the internet, where the
// pods of a cluster live.
var defaultTrust = [...]string{
	"127.0.0.0/8", "::1/128", // loopback
	"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", // RFC 1918
	"100.64.0.0/10", // RFC 6598, used by cloud providers for pods
	"fc00::/7",      // RFC 4193
}

// nets parses networks; an address alone is a network of one.
func (c *compiler) nets(written []string, at place) []netip.Prefix {
	nets := make([]netip.Prefix, 0, len(written))
	for i, text := range written {
		net, want := parseNet(text)
		if want != "" {
			c.add(at.item(i), "%s, want %s", quote(text), want)
			continue
		}
		nets = append(nets, net)
	}
	return nets
}

func parseNet(text string) (net netip.Prefix, want string) {
	if addr, err := netip.ParseAddr(text); err == nil && addr.Zone() == "" {
		addr = addr.Unmap()
		return netip.PrefixFrom(addr, addr.BitLen()), ""
	}
	net, err := netip.ParsePrefix(text)
	if err != nil {
		return net, "a network such as 10.0.0.0/8 or fc00::/7"
	}
	if net.Addr().Is4In6() {
		return net, "an IPv4 network in its own form"
	}
	if net != net.Masked() {
		return net, "no bits behind the prefix: " + net.Masked().String()
	}
	return net, ""
}

// headerWords fills the table of what the tag header may say beside tags, and checks
// that each word means one of them.
func (c *compiler) headerWords(root place) {
	for _, word := range [...]string{"true", "1", "false", "0"} {
		c.policy.HeaderWords[word], _ = headerWord(word)
	}
	at := root.key("headerValues")
	for _, tag := range slices.Sorted(maps.Keys(c.policy.HeaderValues)) {
		word := c.policy.HeaderValues[tag]
		c.tag(tag, at.key(tag))
		switch meaning := cmp.Or(c.policy.tags[word], c.policy.HeaderWords[word], tag); {
		case !isFieldValue(word):
			c.add(at.key(tag), "%s, want visible characters without spaces", quote(word))
		case meaning != tag:
			c.add(at.key(tag), "%s means %s already", quote(word), meaning)
		case word != tag:
			c.policy.HeaderWords[word] = tag
		}
	}
}

// tag checks a tag and tells whether it is one.
func (c *compiler) tag(tag string, at place) bool {
	if !isLabel(tag) {
		c.add(at, "%s, want a tag: 1 to 63 lower-case letters, digits and '-', no '-' at the ends", quote(tag))
		return false
	}
	if meaning, ok := headerWord(tag); ok {
		c.add(at, "%s means %s in the tag header, want another tag", quote(tag), meaning)
		return false
	}
	return true
}

// name checks the name of a rule or a service.
func (c *compiler) name(name string, at place) {
	if !printable(name) {
		c.add(at, "%s, want 1 to %d printable characters without ']'", quote(name), maxName)
	}
}
