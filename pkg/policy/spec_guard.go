package policy

// GuardExceptSpec is the requests that the guard of a service lets pass.
type GuardExceptSpec struct {
	Paths     []string `yaml:"paths" doc:"Paths, with all below them, that are for every pod: metrics, health."`
	SourceIPs []string `yaml:"sourceIPs" doc:"Networks of callers that are for every pod: those of a scraper."`
}
