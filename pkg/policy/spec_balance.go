package policy

// BalanceSpec is how the requests of each version are spread over its
// endpoints.
type BalanceSpec struct {
	Type      string         `yaml:"type" default:"round-robin" enum:"round-robin,random,least-request,response-time,burst,hash" doc:"How the next endpoint is chosen, by weight in each case: in turn; at random; of two at random the one with fewer requests under way; at random, the slower the less; several to one and then the next; by a key, so that the same key goes to the same endpoint."`
	Size      *int           `yaml:"size" default:"3" doc:"burst: requests to one endpoint in a row. The first is next when the list changes."`
	By        *BySpec        `yaml:"by" doc:"hash: the key. Requests without it go anywhere."`
	ZoneFirst *ZoneFirstSpec `yaml:"zoneFirst" doc:"Endpoints of the sidecar's own zone (--zone) come first, whatever the type."`
}

// ZoneFirstSpec is when endpoints of one's own zone are enough.
type ZoneFirstSpec struct {
	Share *Fraction `yaml:"share" default:"0.5" doc:"Requests stay in the zone while at least this share of its endpoints is usable, 0 to 1."`
}

// LimitSpec is how many requests each endpoint may have at a time.
type LimitSpec struct {
	Requests *int      `yaml:"requests" default:"0" doc:"Requests under way; an endpoint that has as many is passed over. 0: no limit."`
	Wait     *Duration `yaml:"wait" default:"100ms" doc:"Where all endpoints have as many, a request waits so long for one to end, and then gets 503."`
}

// TimeoutsSpec is how long requests to the service may take to move on.
type TimeoutsSpec struct {
	Connect *Duration `yaml:"connect" default:"1s" doc:"To connect to an endpoint."`
	Header  *Duration `yaml:"header" default:"60s" doc:"From the end of the request to the head of the reply; 504. 0s: no limit."`
	Idle    *Duration `yaml:"idle" default:"5m" doc:"Without a byte moving, while a body is on its way. 0s: no limit."`
}

// RetrySpec is how often a request tries another endpoint.
type RetrySpec struct {
	Attempts *int `yaml:"attempts" default:"2" doc:"Further endpoints of the same version that a request tries which has not reached one, or which may be repeated: at most 20 % of the service's requests do."`
}
