package main

import (
	"cmp"
	"net/http"

	"graylane/internal/upstream"
	"graylane/pkg/policy"
)

// versionOf says how the policy wants a version served.
func versionOf(p *policy.Policy, v *policy.Version) upstream.Version {
	s := v.Service
	kind, _ := upstream.KindNamed(s.Balance.Type) // the policy knows no others: a test compares the lists
	version := upstream.Version{
		Service: s.Name, Tag: v.Tag, Base: v.Tag == policy.Base,
		Balance:  upstream.Balance{Kind: kind, Size: s.Balance.Size, NearShare: s.Balance.NearShare},
		Check:    checkOf(p, v),
		Limit:    upstream.Limit(s.Limit),
		Retries:  s.Retries,
		Timeouts: upstream.Timeouts(s.Timeouts),
		Protocol: v.Protocol,
	}
	for _, t := range v.Endpoints {
		version.Targets = append(version.Targets, upstream.Target(t))
	}
	return version
}

// checkOf returns the active check of a version, nil for none. A check carries the
// version's tag: behind a sidecar it is a request like any other, and must neither
// be decided nor count as a leak.
func checkOf(p *policy.Policy, v *policy.Version) *upstream.Check {
	h := v.Service.Health
	if h == nil {
		return nil
	}
	c := &upstream.Check{
		Path: h.Path, Expect: h.Expect, Service: h.Service,
		Header:   make(http.Header),
		Interval: h.Interval, Timeout: h.Timeout, HealthyAfter: h.HealthyAfter, UnhealthyAfter: h.UnhealthyAfter,
	}
	c.Header.Set(p.Header, cmp.Or(p.HeaderValues[v.Tag], v.Tag))
	switch h.Type {
	case "tcp":
		c.Kind = upstream.CheckTCP
	case "grpc":
		c.Kind = upstream.CheckGRPC
	}
	return c
}
