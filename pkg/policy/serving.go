package policy

import "time"

// Balance is how the requests of each version of a service are spread over its
// endpoints.
type Balance struct {
	Type string // round-robin, random, least-request, response-time, burst or hash
	Size int    // burst: requests in a row
	// NearShare is the share of the endpoints of the sidecar's own zone that must
	// be usable for requests to stay in it; 0: zones do not matter.
	NearShare float64

	by int // hash: index of the source of the key; -1: none
}

// Health is an active health check; nil: there is none.
type Health struct {
	Type              string // http, tcp or grpc
	Path              string // http
	Expect            []int  // http
	Service           string // grpc; "": the server as a whole
	Interval, Timeout time.Duration
	HealthyAfter      int // good checks in a row
	UnhealthyAfter    int // failed ones
}

// Limit is how many requests each endpoint may have at a time.
type Limit struct {
	Requests int           // 0: no limit
	Wait     time.Duration // for one to end, where all endpoints have as many
}

// Timeouts are those of requests to a service; below 0: no limit.
type Timeouts struct{ Connect, Header, Idle time.Duration }

// Source is where the endpoints of a version are found if the policy does not
// list them. At most one of the names is set.
type Source struct {
	DNS    string            // host:port, or host alone, which keeps the caller's port
	SRV    string            // name of SRV records
	File   string            // path, relative to the policy file
	Labels map[string]string // of the groups of File that count; nil: all
}

// IsZero tells whether the policy lists the endpoints.
func (s *Source) IsZero() bool { return s.DNS == "" && s.SRV == "" && s.File == "" }

// Key returns what the requests of s are balanced by, for `balance: {type:
// hash}`: requests with the same key should go to the same endpoint. A request
// without a key, and one to a service that is balanced in another way, has none.
// It does not allocate.
func (p *Policy) Key(s *Service, r *Request) (key uint64, ok bool) {
	if s.Balance.by < 0 {
		return 0, false
	}
	in := p.read(r)
	defer p.done(in)
	return in.key(s.Balance.by)
}
