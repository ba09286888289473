package policy

// ServiceSpec is a service as written.
type ServiceSpec struct {
	Name        string           `yaml:"name" need:"yes" doc:"Unique name of the service."`
	Hosts       []string         `yaml:"hosts" default:"the name" doc:"How callers name it: any case, with or without trailing dot. With a port it claims that port only, and wins over one without. *.shop.svc claims all names below; the longest wins, and a full name wins over it."`
	Edge        bool             `yaml:"edge" default:"false" doc:"Callers from outside come here first: no inbound tag is believed, whoever hands it over."`
	Fallback    string           `yaml:"fallback" default:"base" enum:"base,none" doc:"What serves a tag that this service cannot serve: its base version, or nothing (503)."`
	Balance     *BalanceSpec     `yaml:"balance" doc:"How the requests of each version are spread over its endpoints."`
	Health      *HealthSpec      `yaml:"health" doc:"An active check of each endpoint, beside what becomes of requests. Left out: none."`
	Limit       *LimitSpec       `yaml:"limit" doc:"How many requests each endpoint may have at a time."`
	Timeouts    *TimeoutsSpec    `yaml:"timeouts" doc:"How long requests may take to move on."`
	Retry       *RetrySpec       `yaml:"retry" doc:"How often a request tries another endpoint."`
	Guard       string           `yaml:"guard" default:"observe" enum:"observe,redirect,reject" doc:"What a pod does with a request that carries another tag than its own: count it, send it to the right version once, or answer 421. A tag at a base pod is fallback, and none of this."`
	GuardExcept *GuardExceptSpec `yaml:"guardExcept" doc:"What the guard lets pass."`
	Versions    []VersionSpec    `yaml:"versions" doc:"Its deployments. Left out: requests are marked and sent where they were going."`
}

// VersionSpec is one deployment of a service.
type VersionSpec struct {
	Tag       string         `yaml:"tag" need:"yes" doc:"Its tag, unique in the service; base is what serves everything else."`
	Endpoints []EndpointSpec `yaml:"endpoints" doc:"Its addresses; [] for none now. One of endpoints, dns, dnsSRV and file is needed."`
	DNS       string         `yaml:"dns" doc:"Name whose A and AAAA records are its addresses, with their port: users-gray.shop:8080. Asked again as often as the records say."`
	DNSSRV    string         `yaml:"dnsSRV" doc:"Name of SRV records that say its addresses, ports and weights: _http._tcp.users.shop."`
	File      *FileSpec      `yaml:"file" doc:"File that lists its addresses."`
	Protocol  string         `yaml:"protocol" default:"http1" enum:"http1,h2c" doc:"What requests of HTTP/1 are sent as. Requests of HTTP/2, gRPC among them, are sent as HTTP/2 always."`
}

// EndpointSpec is one address of a version; `host:port` alone is short for
// {address: host:port}.
type EndpointSpec struct {
	Address  string `yaml:"address" need:"yes" short:"yes" doc:"host:port, or host alone, which keeps the caller's port."`
	Weight   *int   `yaml:"weight" default:"1" doc:"Its part of the version's requests. 0: none, unless all are 0."`
	Zone     string `yaml:"zone" doc:"Its zone."`
	Protocol string `yaml:"protocol" enum:"http1,h2c" doc:"What requests of HTTP/1 are sent to it as. Left out: what the version says."`
}
