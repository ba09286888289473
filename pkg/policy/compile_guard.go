package policy

import (
	"net"
	"strconv"
	"strings"
)

// guard compiles what becomes of requests that reach a pod of another tag.
func (c *compiler) guard(s *Service, spec *ServiceSpec, at place) {
	s.Guard = Guard{Action: "observe", ports: servedPorts(s)}
	if at.has("guard") {
		s.Guard.Action = spec.Guard
	}
	if s.Guard.Action == "redirect" && len(s.Versions) == 0 {
		c.add(at.key("guard"), "redirect without versions, want versions to send requests to")
	}
	if spec.GuardExcept == nil {
		return
	}
	except := at.key("guardExcept")
	for i, path := range spec.GuardExcept.Paths {
		item := except.key("paths").item(i)
		if normal := string(normalPath(nil, []byte(path))); !strings.HasPrefix(path, "/") || normal != path {
			c.add(item, "%s, want a path such as /metrics, without escapes, dot segments or empty ones", quote(path))
			continue
		}
		s.Guard.paths = append(s.Guard.paths, strings.TrimSuffix(path, "/"))
	}
	s.Guard.peers = c.nets(spec.GuardExcept.SourceIPs, except.key("sourceIPs"))
}

// servedPorts is the ports of a service, as its hosts and endpoints say; none where
// they do not, or where a source brings ports of its own.
func servedPorts(s *Service) map[uint16]bool {
	addresses := append([]string(nil), s.Hosts...)
	for _, v := range s.Versions {
		if v.Source.SRV != "" || v.Source.File != "" {
			return nil
		}
		for _, target := range v.Endpoints {
			addresses = append(addresses, target.Address)
		}
		addresses = append(addresses, v.Source.DNS)
	}
	ports := make(map[uint16]bool)
	for _, address := range addresses {
		_, text, err := net.SplitHostPort(address)
		if err != nil {
			continue // without a port
		}
		if port, err := strconv.ParseUint(text, 10, 16); err == nil {
			ports[uint16(port)] = true
		}
	}
	return ports
}
