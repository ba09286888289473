package policy

// APIVersion is what a policy file of this language says in `apiVersion`.
const APIVersion = "graylane.dev/v1"

// Spec is a policy file as written. The schema for editors is made from these
// types: `doc` is what an editor shows, `default` and `enum` what it offers.
type Spec struct {
	APIVersion    string            `yaml:"apiVersion" need:"yes" enum:"graylane.dev/v1" doc:"Version of the policy language."`
	Enabled       *bool             `yaml:"enabled" default:"true" doc:"The global switch. false: every request is marked base and routed as base, at once."`
	Header        string            `yaml:"header" default:"X-Gray" doc:"Name of the header that carries the tag from hop to hop."`
	HeaderValues  map[string]string `yaml:"headerValues" doc:"What the header says for a tag where an app wants another word than the tag itself: {gray: \"true\", base: \"false\"}."`
	AcceptHeaders []string          `yaml:"acceptHeaders" doc:"Further names of the tag header: read and taken off, never written."`
	Trust         []string          `yaml:"trust" default:"127/8, ::1, 10/8, 172.16/12, 192.168/16, 100.64/10, fc00::/7" doc:"Networks of peers whose tag is believed."`
	Untrusted     []string          `yaml:"untrusted" default:"[]" doc:"Networks of peers whose tag is not believed; wins over trust."`
	Decide        string            `yaml:"decide" default:"entry" enum:"entry,first-match" doc:"Where a chain is decided: by the first sidecar (entry), or by the first one where a rule takes the request (first-match)."`
	Rules         []RuleSpec        `yaml:"rules" default:"[]" doc:"Asked in order, once per chain; the first rule that takes the request gives it its tag."`
	Routes        []RouteSpec       `yaml:"routes" default:"[]" doc:"Where the gateway (--gateway) sends requests, by path. Calls of apps never use them."`
	Services      []ServiceSpec     `yaml:"services" default:"[]" doc:"The services whose calls are routed. What no service claims is passed on untouched."`
}

// RuleSpec is a rule as written: which requests it takes, and which tag they
// get. All parts that are written must hold.
type RuleSpec struct {
	Name    string      `yaml:"name" need:"yes" doc:"Unique name: seen in logs, and the salt of the rule's share unless salt is given."`
	Tag     string      `yaml:"tag" doc:"Tag of the requests that the rule takes. base is a tag too: these stay base."`
	Matches []MatchSpec `yaml:"matches" doc:"One of these must hold, and inside one all of it. Left out: every request."`
	Percent *Percent    `yaml:"percent" doc:"Share of the matching requests that the rule takes, 0 to 100 with at most two decimals."`
	Split   []PartSpec  `yaml:"split" doc:"Several tags, each with a share, in place of tag and percent."`
	Ramp    *RampSpec   `yaml:"ramp" doc:"A share that grows with the clock, in place of percent."`
	By      *BySpec     `yaml:"by" doc:"What a share sticks to: the same key, the same answer, on every pod and after a restart. Without the key the rule does not match. Left out: random for each request that is decided."`
	Salt    string      `yaml:"salt" doc:"Salt of the share's hash. Default: the rule's name. Rules with the same salt and key take the same users."`
	Active  *ActiveSpec `yaml:"active" doc:"When the rule works at all. Left out: always."`
}

// PartSpec is one tag of a split and its share.
type PartSpec struct {
	Tag     string   `yaml:"tag" need:"yes" doc:"Tag of the requests in this share."`
	Percent *Percent `yaml:"percent" need:"yes" doc:"Share, 0 to 100 with at most two decimals; all parts together at most 100."`
}

// RampSpec is a share that is a function of the clock.
type RampSpec struct {
	From  *Percent  `yaml:"from" default:"0" doc:"Share at start. Before start the rule takes nothing."`
	To    *Percent  `yaml:"to" need:"yes" doc:"Share at start + over, and from then on."`
	Start *Time     `yaml:"start" need:"yes" doc:"When the ramp begins (RFC 3339)."`
	Over  *Duration `yaml:"over" need:"yes" doc:"How long it takes: 30m, 2h, 36h."`
	Step  *Percent  `yaml:"step" default:"0.01" doc:"The share moves in steps of this size."`
}

// BySpec names the one thing that a share sticks to.
type BySpec struct {
	Header     string `yaml:"header" doc:"Value of this header."`
	Cookie     string `yaml:"cookie" doc:"Value of this cookie."`
	QueryParam string `yaml:"queryParam" doc:"Value of this query parameter."`
	JWTClaim   string `yaml:"jwtClaim" doc:"Value of this claim of the bearer token, which is not verified."`
	ClientIP   bool   `yaml:"clientIP" enum:"true" doc:"Address of the peer. Behind an ingress that is the ingress: one bucket for all."`
	TraceID    bool   `yaml:"traceID" enum:"true" doc:"Trace id of the request."`
}

// ActiveSpec is the time in which a rule works: from <= now < until.
type ActiveSpec struct {
	From  *Time `yaml:"from" doc:"The rule works from this time on (RFC 3339). Left out: since ever."`
	Until *Time `yaml:"until" doc:"The rule works up to, not at, this time (RFC 3339). Left out: for ever."`
}
