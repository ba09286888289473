package policy

import (
	"net"
	"slices"
	"strings"
)

// found compiles where the endpoints of a version come from.
func (c *compiler) found(v *Version, spec *VersionSpec, at place) {
	keys := []string{"endpoints", "dns", "dnsSRV", "file"}
	written := slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return !at.has(key) })
	switch {
	case len(written) == 0:
		c.add(at.key("endpoints"), "missing, want endpoints ([] for none now), dns, dnsSRV or file")
	case len(written) > 1:
		c.add(at.key(written[1]), "beside %s, want one of them", written[0])
	}
	if at.has("dns") {
		v.Source.DNS = spec.DNS
		if want := checkAddress(spec.DNS); want != "" {
			c.add(at.key("dns"), "%s, want %s", quote(spec.DNS), want)
		}
	}
	if at.has("dnsSRV") {
		v.Source.SRV = spec.DNSSRV
		if !isSRV(spec.DNSSRV) {
			c.add(at.key("dnsSRV"), "%s, want a name such as _http._tcp.users.shop", quote(spec.DNSSRV))
		}
	}
	if spec.File != nil {
		v.Source.File, v.Source.Labels = spec.File.Path, spec.File.Labels
		if !printable(spec.File.Path) {
			place := at.key("file")
			if place.isMapping() {
				place = place.key("path")
			}
			c.add(place, "%s, want the path of a file", quote(spec.File.Path))
		}
	}
}

// isSRV tells whether s is the name of SRV records: _service._proto.name (RFC
// 2782).
func isSRV(s string) bool {
	labels := strings.Split(strings.TrimSuffix(s, "."), ".")
	if len(labels) < 3 || !strings.HasPrefix(labels[0], "_") || !strings.HasPrefix(labels[1], "_") {
		return false
	}
	_, err := parseHost(strings.Join(labels[2:], "."))
	return err == nil && len(labels[0]) > 1 && len(labels[1]) > 1 && isToken(labels[0]+labels[1]) && !strings.Contains(s, "*")
}

// checkable refuses endpoints that a health check cannot reach.
func (c *compiler) checkable(s *Service, at place) {
	if s.Health == nil {
		return
	}
	for i, v := range s.Versions {
		item := at.key("versions").item(i)
		for j, t := range v.Endpoints {
			if !hasPort(t.Address) {
				c.add(item.key("endpoints").item(j), "%s has no port to check, want one, or no health for the service", quote(t.Address))
			}
		}
		if v.Source.DNS != "" && !hasPort(v.Source.DNS) {
			c.add(item.key("dns"), "%s has no port to check, want one, or no health for the service", quote(v.Source.DNS))
		}
	}
}

func hasPort(address string) bool {
	_, _, err := net.SplitHostPort(address)
	return err == nil
}
