package policy

import (
	"fmt"
	"net/netip"
	"strings"
)

// Incoming is how a request came to a sidecar.
type Incoming struct {
	Tag  string // that it came with; "": none
	From string // where that stood: `header`, `baggage`, `tracestate`
	Side Side

	// At the inbound side:

	Service string // name of the service whose pod got the request; "": none
	Edge    bool   // that pod is an edge, whatever the policy says of its service

	// At the outbound side:

	Pod string // tag of the pod whose app makes the call; "": base
}

// Side is where a sidecar takes a request.
type Side uint8

// The sides.
const (
	AtInbound  Side = iota // from another pod, or from outside
	AtOutbound             // from the app beside it
	AtGateway              // from outside, to be sent by its path
)

// Answer is what becomes of a request.
type Answer struct {
	Tag     string `json:"tag"`               // "": none is looked for: it is not marked
	Rule    string `json:"rule,omitempty"`    // that gave it the tag; "": none
	Service string `json:"service,omitempty"` // that it goes to; "": none claims its host
	Version string `json:"version,omitempty"` // tag of the version that serves it; "": none
	Reason  string `json:"reason"`
}

// String shows a as one line.
func (a Answer) String() string {
	tag := "no tag"
	if a.Tag != "" {
		tag = "tag " + a.Tag
	}
	var b strings.Builder
	b.WriteString(tag)
	if a.Rule != "" {
		b.WriteString(" by rule " + a.Rule)
	}
	if a.Service != "" {
		b.WriteString(", service " + a.Service)
	}
	if a.Version != "" {
		b.WriteString(", version " + a.Version)
	}
	return b.String() + " (" + a.Reason + ")"
}

// Explanation is why a request is routed as it is, step by step.
type Explanation struct {
	Answer
	Steps []*Step `json:"steps"`
}

// Step is one thing that was looked at, in plain words.
type Step struct {
	What    string   `json:"what"`
	Details []string `json:"details,omitempty"`
}

func (e *Explanation) step(format string, args ...any) *Step {
	s := &Step{What: fmt.Sprintf(format, args...)}
	e.Steps = append(e.Steps, s)
	return s
}

func (s *Step) detail(format string, args ...any) {
	s.Details = append(s.Details, fmt.Sprintf(format, args...))
}

// Explain tells what p makes of r, which came as in says, and why. It asks what
// Trusts, Tag, ServiceFor, RouteFor and Decide ask, of the same parts of p.
func (p *Policy) Explain(r *Request, in Incoming) *Explanation {
	e := new(Explanation)
	var s *Service
	switch in.Side {
	case AtInbound:
		p.explainTag(e, r, in)
		s = p.explainHost(e, r.Host)
	case AtOutbound:
		if s = p.explainHost(e, r.Host); s != nil {
			p.explainTag(e, r, in)
		}
	case AtGateway:
		if s = p.explainRoute(e, r); s != nil {
			p.explainTag(e, r, in)
		}
	}
	if s != nil {
		e.explainVersion(s)
	}
	return e
}

// explainTag tells whose the request is.
func (p *Policy) explainTag(e *Explanation, r *Request, in Incoming) {
	own := in.Side == AtOutbound && in.Pod != "" && in.Pod != Base
	switch {
	case !p.Enabled:
		e.step("the policy is switched off (enabled: false): every request is base")
		e.Tag = Base
	case p.explainTrust(e, r.Peer, in):
		e.Tag = in.Tag
		e.step("tag %s: decided already by an earlier hop, so no rule is asked", in.Tag)
	case own:
		e.Tag = in.Pod
		e.step("tag %s: that of the pod, which works for such requests alone, so no rule is asked", in.Pod)
	default:
		p.explainRules(e, r)
	}
}

// explainTrust tells whether the tag that came with the request is believed.
func (p *Policy) explainTrust(e *Explanation, peer netip.Addr, in Incoming) bool {
	if in.Tag == "" {
		s := e.step("no tag came with the request")
		if in.Side == AtOutbound {
			s.detail("if the app forwards a trace that the sidecar remembers, the tag of that one counts")
		}
		return false
	}
	s := e.step("tag %s came with the request (%s)", in.Tag, in.From)
	service := p.names[in.Service]
	switch {
	case in.Side == AtOutbound:
		s.detail("believed: it comes from the app beside the sidecar")
		return true
	case in.Side == AtGateway:
		s.detail("not believed: a gateway believes nobody")
		return false
	case in.Edge || service != nil && service.Edge:
		s.detail("not believed: this pod is an edge, which believes nobody")
		return false
	}
	within, trusted := network(p.trust, peer)
	except, distrusted := network(p.untrusted, peer)
	switch {
	case !trusted:
		s.detail("not believed: the peer %v is in no network of trust", peer)
	case distrusted:
		s.detail("not believed: the peer %v is in %v of untrusted", peer, except)
	default:
		s.detail("believed: the peer %v is in %v of trust", peer, within)
	}
	return p.Trusts(peer)
}

// network returns the first of nets that addr is inside.
func network(nets []netip.Prefix, addr netip.Addr) (netip.Prefix, bool) {
	for i := range nets {
		if contains(nets[i:i+1], addr) {
			return nets[i], true
		}
	}
	return netip.Prefix{}, false
}

// explainHost tells whom the request is for, nil for a stranger.
func (p *Policy) explainHost(e *Explanation, host []byte) *Service {
	s := p.ServiceFor(host)
	if s == nil {
		e.Reason = PassThrough.String()
		e.step("no service claims host %s: it is passed on to where it was going, and our headers are taken off", quote(string(host)))
		return nil
	}
	e.Service = s.Name
	e.step("host %s belongs to service %s", quote(string(host)), s.Name)
	return s
}

// explainVersion tells which version of s serves the request.
func (e *Explanation) explainVersion(s *Service) {
	d := s.Decide(e.Tag)
	e.Reason = d.Reason.String()
	if d.Version != nil {
		e.Version = d.Version.Tag
	}
	switch {
	case d.Reason == PassThrough:
		e.step("service %s has no versions: the request is marked %s and sent where it was going", s.Name, e.Tag)
	case d.Version == nil:
		e.step("503: %s", s.lacking(e.Tag))
	case d.Reason == Matched:
		e.step("version %s serves it: %s", d.Version.Tag, d.Version.addresses())
	default:
		e.step("version base serves it, since %s (%v); the tag stays %s", s.version(e.Tag).lacks(e.Tag), d.Reason, e.Tag).
			detail("base: %s", d.Version.addresses())
	}
}

// lacking tells why no version may serve the tag.
func (s *Service) lacking(tag string) string {
	why := s.version(tag).lacks(tag)
	switch {
	case tag == Base:
		return why + ", and base requests go nowhere else"
	case !s.Fallback:
		return why + ", and fallback is none"
	}
	return why + ", and " + s.base.lacks(Base)
}

// lacks tells why v, the version with that tag, cannot serve.
func (v *Version) lacks(tag string) string {
	switch v.lack() {
	case NoVersion:
		return "there is no version " + tag
	case NoEndpoint:
		return "version " + tag + " has no endpoint"
	case NoneHealthy:
		return "version " + tag + " has no healthy endpoint"
	}
	return "version " + tag + " refused"
}

// addresses shows where v is.
func (v *Version) addresses() string {
	switch {
	case v.Source.DNS != "":
		return "what " + v.Source.DNS + " resolves to"
	case v.Source.SRV != "":
		return "what the SRV records of " + v.Source.SRV + " say"
	case v.Source.File != "":
		return "what is in " + v.Source.File
	}
	texts := make([]string, len(v.Endpoints))
	for i, t := range v.Endpoints {
		texts[i] = t.Address
	}
	return strings.Join(texts, ", ")
}
