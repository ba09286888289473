package main

import (
	"net"
	"path/filepath"

	"graylane/internal/discovery"
	"graylane/pkg/policy"
)

// sourceOf says where the endpoints of a version are found, nil where the policy
// lists them. Base is needed: there is nothing to fall back to.
func (sc *sidecar) sourceOf(v *policy.Version) discovery.Source {
	needed := v.Tag == policy.Base
	switch s := v.Source; {
	case s.DNS != "":
		host, port := splitHost(s.DNS)
		return &discovery.DNS{Host: host, Port: port, Resolver: sc.names, Needed: needed}
	case s.SRV != "":
		return &discovery.SRV{Name: s.SRV, Resolver: sc.names, Needed: needed}
	case s.File != "":
		path := s.File
		if !filepath.IsAbs(path) {
			path = filepath.Join(filepath.Dir(sc.settings.Policy), path)
		}
		return &discovery.File{Path: path, Labels: s.Labels, Log: sc.log}
	}
	return nil
}

// splitHost takes an address apart that may have no port.
func splitHost(address string) (host, port string) {
	if host, port, err := net.SplitHostPort(address); err == nil {
		return host, port
	}
	if n := len(address); n > 2 && address[0] == '[' {
		return address[1 : n-1], ""
	}
	return address, ""
}
