package policy

// MatchSpec is a set of conditions that must all hold. Names and shape follow
// HTTPRouteMatch of the Kubernetes Gateway API.
type MatchSpec struct {
	Method      string      `yaml:"method" doc:"Method, as sent: GET."`
	Path        *PathSpec   `yaml:"path" doc:"Path, normalised: escapes decoded, // and dot segments resolved."`
	Hosts       []string    `yaml:"hosts" doc:"Host that the caller named is one of these; *.shop.svc is any name below."`
	Headers     []ValueSpec `yaml:"headers" doc:"Headers, by name in any case; of several with one name the first."`
	QueryParams []ValueSpec `yaml:"queryParams" doc:"Query parameters, decoded; of several with one name the first."`
	Cookies     []ValueSpec `yaml:"cookies" doc:"Cookies, of all Cookie lines; of several with one name the first."`
	JWTClaims   []ValueSpec `yaml:"jwtClaims" doc:"Claims of the bearer token, which is not verified: it picks a version, it grants nothing. Of a list, one element must match."`
	SourceIPs   []string    `yaml:"sourceIPs" doc:"Peer is inside one of these networks."`
	Not         *MatchSpec  `yaml:"not" doc:"This match does not hold."`
}

// PathSpec is a condition on the normalised path.
type PathSpec struct {
	Type  string `yaml:"type" default:"PathPrefix" enum:"Exact,PathPrefix,RegularExpression" doc:"Exact; PathPrefix, on segment borders: /a is /a and /a/b, not /ab; RegularExpression (RE2), of the whole path."`
	Value string `yaml:"value" need:"yes" doc:"Path, prefix or expression."`
}

// ValueSpec is a condition on a named value.
type ValueSpec struct {
	Name       string      `yaml:"name" need:"yes" doc:"Name of the header, parameter, cookie or claim."`
	Type       string      `yaml:"type" default:"Exact" enum:"Exact,Prefix,Suffix,Present,RegularExpression" doc:"How values are compared, case included. Present: any value. RegularExpression (RE2): the whole value."`
	Value      *string     `yaml:"value" doc:"The value."`
	Values     []string    `yaml:"values" doc:"One of these values."`
	ValuesFrom *ValuesFrom `yaml:"valuesFrom" doc:"One of the values in files."`
}

// ValuesFrom names files that hold one value a line.
type ValuesFrom struct {
	Files []string `yaml:"files" need:"yes" doc:"Files beside the policy file, one value a line; blank lines and lines that start with # do not count."`
}
