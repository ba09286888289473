package policy

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
	"time"
)

func (c *compiler) routes(specs []RouteSpec, at place) {
	seen := make(map[string]bool, len(specs))
	for i := range specs {
		spec, item := &specs[i], at.item(i)
		r := &Route{Path: strings.TrimSuffix(spec.Path, "/"), Service: c.policy.names[spec.Service]}
		switch {
		case !isPath(spec.Path) || !isNormal([]byte(spec.Path)) || strings.Contains(spec.Path, "?"):
			c.add(item.key("path"), "%s, want a path such as /shop, without escapes, dot segments and query", quote(spec.Path))
		case seen[r.Path]:
			c.add(item.key("path"), "%s has a route already", quote(spec.Path))
		}
		seen[r.Path] = true
		switch {
		case r.Service == nil:
			c.add(item.key("service"), "%s, want the name of a service of this policy%s", quote(spec.Service), c.similarService(spec.Service))
		case len(r.Service.Versions) == 0:
			c.add(item.key("service"), "%s has no versions, so the gateway has nowhere to send requests", quote(spec.Service))
		case !allHavePorts(r.Service):
			c.add(item.key("service"), "%s has an endpoint without a port, and callers of the gateway name none that it could keep", quote(spec.Service))
		}
		const most = 20 // segments: longer than any prefix
		r.Strip = c.number(spec.StripPrefix, 0, 0, most, item.key("stripPrefix"))
		if spec.Cors != nil {
			r.Cors = c.cors(spec.Cors, item.key("cors"))
		}
		c.policy.Routes = append(c.policy.Routes, r)
	}
	slices.SortStableFunc(c.policy.Routes, func(a, b *Route) int { return cmp.Compare(len(b.Path), len(a.Path)) })
}

// allHavePorts tells whether no endpoint of s keeps the port that a caller names.
func allHavePorts(s *Service) bool {
	for _, v := range s.Versions {
		portless := func(t Target) bool { return !hasPort(t.Address) }
		if slices.ContainsFunc(v.Endpoints, portless) || v.Source.DNS != "" && !hasPort(v.Source.DNS) {
			return false
		}
	}
	return true
}

func (c *compiler) similarService(name string) string {
	names := make([]string, len(c.policy.Services))
	for i, s := range c.policy.Services {
		names[i] = s.Name
	}
	return DidYouMean(name, names)
}

// anything stands for every origin, method or header.
const anything = "*"

func (c *compiler) cors(spec *CorsSpec, at place) *Cors {
	r := &Cors{Credentials: spec.AllowCredentials, MaxAge: -1}
	if len(spec.AllowOrigins) == 0 && at.has("allowOrigins") {
		c.add(at.key("allowOrigins"), "an empty list, want an origin: leave cors out where the service answers")
	}
	for i, origin := range spec.AllowOrigins {
		item := at.key("allowOrigins").item(i)
		switch {
		case origin == anything && spec.AllowCredentials:
			c.add(item, "* with allowCredentials would open the service to every page, want origins")
		case hasDefaultPort(origin):
			c.add(item, "%s: browsers leave the default port out, want %s", quote(origin), origin[:strings.LastIndexByte(origin, ':')])
		case origin != anything && !isOrigin(origin):
			c.add(item, "%s, want an origin such as https://shop.example, without path", quote(origin))
		}
	}
	if !slices.Contains(spec.AllowOrigins, anything) {
		r.Origins = spec.AllowOrigins
	}
	r.Methods = []string{"GET", "HEAD", "POST"}
	if at.has("allowMethods") {
		r.Methods = c.words(spec.AllowMethods, at.key("allowMethods"), "a method")
	}
	if slices.Contains(r.Methods, anything) {
		r.Methods = nil
	}
	r.Headers = c.words(spec.AllowHeaders, at.key("allowHeaders"), "the name of a header")
	r.AnyHeader = slices.Contains(r.Headers, anything)
	if spec.MaxAge != nil {
		r.MaxAge = int(c.duration(spec.MaxAge, 0, 0, 24*time.Hour, at.key("maxAge")) / time.Second)
	}
	return r
}

// words checks names of methods or headers; * is one.
func (c *compiler) words(list []string, at place, what string) []string {
	for i, word := range list {
		if !isToken(word) {
			c.add(at.item(i), "%s, want %s, or *", quote(word), what)
		}
	}
	return list
}

// isOrigin tells whether s is an origin as browsers write it (RFC 6454 section
// 6.2).
func isOrigin(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && s == u.Scheme+"://"+strings.ToLower(u.Host)
}

// hasDefaultPort tells whether an origin names the port that its scheme has anyway.
func hasDefaultPort(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" && u.Port() == "80" || u.Scheme == "https" && u.Port() == "443") && isOrigin(s)
}
