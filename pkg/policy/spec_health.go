package policy

// HealthSpec is an active health check of each endpoint.
type HealthSpec struct {
	Type           string    `yaml:"type" default:"http" enum:"http,tcp,grpc" doc:"GET a path; connect; or call grpc.health.v1.Health/Check over cleartext HTTP/2."`
	Path           string    `yaml:"path" default:"/health" doc:"http: path, with its query if it has one."`
	Expect         []int     `yaml:"expect" default:"[200]" doc:"http: statuses of an endpoint that is healthy."`
	Service        string    `yaml:"service" doc:"grpc: service to ask for. Left out: the server as a whole."`
	Interval       *Duration `yaml:"interval" default:"10s" doc:"From one check to the next, more or less 10 %."`
	Timeout        *Duration `yaml:"timeout" default:"1s" doc:"How long a check may take, at most the interval."`
	HealthyAfter   *int      `yaml:"healthyAfter" default:"2" doc:"Good checks in a row that bring an endpoint back."`
	UnhealthyAfter *int      `yaml:"unhealthyAfter" default:"3" doc:"Failed checks in a row that take an endpoint out."`
}
