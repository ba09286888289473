package policy

import (
	"cmp"
	"net"
	"strconv"
	"strings"
)

func (c *compiler) services(specs []ServiceSpec, at place) {
	for i := range specs {
		c.service(&specs[i], at.item(i))
	}
}

func (c *compiler) service(spec *ServiceSpec, at place) {
	s := &Service{Name: spec.Name, Edge: spec.Edge, Fallback: spec.Fallback != "none"}
	c.name(spec.Name, at.key("name"))
	if c.policy.names[spec.Name] != nil {
		c.add(at.key("name"), "a service with this name is above")
	}
	c.policy.names[spec.Name] = s
	c.policy.Services = append(c.policy.Services, s)
	c.claims(s, spec, at)
	if at.has("versions") && len(spec.Versions) == 0 {
		c.add(at.key("versions"), "an empty list, want a version: leave the key out to send requests where they were going")
	}
	for i := range spec.Versions {
		c.version(s, &spec.Versions[i], at.key("versions").item(i))
	}
	c.serving(s, spec, at)
	c.checkable(s, at)
	c.guard(s, spec, at)
}

// claims gives the service its hosts. A host that another service has stays
// with that one: check warns of it.
func (c *compiler) claims(s *Service, spec *ServiceSpec, at place) {
	written, places := spec.Hosts, at.key("hosts")
	if !at.has("hosts") {
		written, places = []string{spec.Name}, at.key("name")
	}
	for i, text := range written {
		host, err := parseHost(text)
		if err != nil {
			if !at.has("hosts") {
				c.add(places, "%s is no host, want hosts: %v", quote(text), err)
				return
			}
			c.add(places.item(i), "%s, %v", quote(text), err)
			continue
		}
		s.Hosts = append(s.Hosts, host)
		c.policy.hosts.claim(host, s)
	}
}

func (c *compiler) version(s *Service, spec *VersionSpec, at place) {
	v := &Version{Service: s, Tag: spec.Tag, Protocol: cmp.Or(spec.Protocol, "http1"), Endpoints: make([]Target, 0, len(spec.Endpoints))}
	if c.tag(spec.Tag, at.key("tag")) {
		c.policy.tags[spec.Tag] = spec.Tag
		if s.version(spec.Tag) != nil {
			c.add(at.key("tag"), "a version with this tag is above")
		}
	}
	if spec.Tag == Base {
		s.base = v
	}
	s.Versions = append(s.Versions, v)
	c.found(v, spec, at)
	seen := make(map[string]bool, len(spec.Endpoints))
	for i := range spec.Endpoints {
		item := at.key("endpoints").item(i)
		t, ok := c.endpoint(v, &spec.Endpoints[i], item)
		if !ok {
			continue
		}
		if seen[t.Address] {
			c.add(item, "%s is in this list already", quote(t.Address))
		}
		seen[t.Address] = true
		v.Endpoints = append(v.Endpoints, t)
	}
}

func (c *compiler) endpoint(v *Version, spec *EndpointSpec, at place) (t Target, ok bool) {
	t = Target{Address: spec.Address, Weight: 1, Zone: spec.Zone, Protocol: cmp.Or(spec.Protocol, v.Protocol)}
	if spec.Weight != nil {
		t.Weight = *spec.Weight
	}
	const most = 1_000_000 // the sum of all weights of a version fits 32 bits
	switch {
	case t.Weight < 0:
		c.add(at.key("weight"), "%d, want 0 or more", t.Weight)
	case t.Weight > most:
		c.add(at.key("weight"), "%d, want at most %d", t.Weight, most)
	}
	if t.Zone != "" && !printable(t.Zone) {
		c.add(at.key("zone"), "%s, want printable characters", quote(t.Zone))
	}
	if want := checkAddress(spec.Address); want != "" {
		if at.isMapping() {
			at = at.key("address")
		}
		c.add(at, "%s, want %s", quote(spec.Address), want)
		return t, false
	}
	return t, true
}

// checkAddress tells what is wrong with the address of an endpoint.
func checkAddress(address string) (want string) {
	host, ok := strings.CutPrefix(address, "[")
	switch {
	case ok && strings.HasSuffix(host, "]"):
		host = strings.TrimSuffix(host, "]")
	case strings.Contains(address, ":"):
		var port string
		var err error
		if host, port, err = net.SplitHostPort(address); err != nil {
			return "host:port, or host alone; an IPv6 address in brackets"
		}
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return "a port from 1 to 65535 after the colon"
		}
	default:
		host = address
	}
	if strings.Contains(host, "*") {
		return "one address, without *"
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if _, err := parseHost(host); err != nil {
		return strings.TrimPrefix(err.Error(), "want ")
	}
	return ""
}
