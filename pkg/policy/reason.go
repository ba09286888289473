package policy

// Reason is why a request went where it went: a closed list, whose names are
// values of metrics and logs.
type Reason uint8

// The reasons there are.
const (
	Matched     Reason = iota // the version with the request's tag
	NoVersion                 // fell back: the service has no version with the tag
	NoEndpoint                // fell back: that version has no endpoint
	NoneHealthy               // fell back: none of its endpoints is usable
	AllRefused                // fell back: every endpoint of it was tried and not reached
	Unavailable               // nothing that may serve it: 503
	PassThrough               // no service claims the host, or it has no versions
	Local                     // inbound, handed to the app beside us
	Leaked                    // inbound: meant for another version, and not handed to the app
	Answered                  // the gateway's own answer: to a browser that asks what it may do
)

// String returns the name of r in metrics and logs.
func (r Reason) String() string {
	switch r {
	case Matched:
		return "matched"
	case NoVersion:
		return "no_version"
	case NoEndpoint:
		return "no_endpoint"
	case NoneHealthy:
		return "none_healthy"
	case AllRefused:
		return "all_refused"
	case Unavailable:
		return "unavailable"
	case PassThrough:
		return "pass_through"
	case Local:
		return "local"
	case Leaked:
		return "leaked"
	case Answered:
		return "answered"
	}
	return "unknown"
}

// Fallback tells whether r means that a request was served by base in place of
// the version with its tag.
func (r Reason) Fallback() bool { return r >= NoVersion && r <= AllRefused }
