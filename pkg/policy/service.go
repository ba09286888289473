package policy

// Service is what a caller names.
type Service struct {
	Name     string
	Hosts    []string   // as the policy writes them, lower-case, without trailing dot
	Edge     bool       // believe no tag from inbound callers
	Fallback bool       // false: `fallback: none`, a tag that cannot be served gets 503
	Versions []*Version // none: requests are marked and sent where they were going

	Guard    Guard
	Balance  Balance
	Health   *Health // nil: no active checks
	Limit    Limit
	Timeouts Timeouts
	Retries  int // further endpoints of a version that a request may try

	base *Version // nil: no version is base
}

// Version is one deployment of a service, with one tag.
type Version struct {
	Service   *Service
	Tag       string
	Endpoints []Target
	Source    Source  // of the endpoints, where they are not listed
	Protocol  string  // http1 or h2c: what requests of HTTP/1 are sent as, where the endpoint does not say
	Backend   Backend // nil: all Endpoints are usable, and those of Source are there
}

// Target is an endpoint as the policy writes it.
type Target struct {
	Address  string // host:port, or host alone, which keeps the caller's port
	Weight   int    // share among the endpoints of the version, 1 by default; 0 beside others: not one request
	Zone     string // "": none
	Protocol string // http1 or h2c: what requests of HTTP/1 are sent to it as
}

// Backend is what stands behind a version now.
type Backend interface {
	// Counts tells how many endpoints the version has and how many of them may
	// be used now. It must not allocate.
	Counts() (total, usable int)
}

// Decision is which version serves a request, and why.
type Decision struct {
	Version *Version // nil: none may (Unavailable), or no choice is ours (PassThrough)
	Reason  Reason
}

// Decide picks the version of s for a request with this tag: the version that
// has it, else base, else none. It never picks the version of another tag, and
// base requests go to base or nowhere. It does not allocate.
func (s *Service) Decide(tag string) Decision {
	if len(s.Versions) == 0 {
		return Decision{Reason: PassThrough}
	}
	v := s.version(tag)
	reason := v.lack()
	if reason == Matched {
		return Decision{Version: v}
	}
	return s.fall(tag, reason)
}

// Fall picks what serves a request with this tag after every endpoint of its
// version was tried and not reached. It does not allocate.
func (s *Service) Fall(tag string) Decision {
	return s.fall(tag, AllRefused)
}

func (s *Service) fall(tag string, reason Reason) Decision {
	if tag == Base || !s.Fallback || s.base.lack() != Matched {
		return Decision{Reason: Unavailable}
	}
	return Decision{Version: s.base, Reason: reason}
}

func (s *Service) version(tag string) *Version {
	for _, v := range s.Versions {
		if v.Tag == tag {
			return v
		}
	}
	return nil
}

// lack tells why v cannot serve now; Matched means that it can.
func (v *Version) lack() Reason {
	if v == nil {
		return NoVersion
	}
	total, usable := v.counts()
	switch {
	case total == 0:
		return NoEndpoint
	case usable == 0:
		return NoneHealthy
	}
	return Matched
}

func (v *Version) counts() (total, usable int) {
	switch {
	case v.Backend != nil:
		return v.Backend.Counts()
	case !v.Source.IsZero():
		return 1, 1 // offline nobody knows: explain and diff say what happens where it is found
	}
	return len(v.Endpoints), len(v.Endpoints)
}
