package admin

import (
	"fmt"
	"time"

	"graylane/pkg/policy"
)

// policyView is the reply of /policy: the policy in force, whole, with the defaults
// of what was left out. The keys are those of the policy file; what a rule matches is
// put in words, since files may have a million values.
type policyView struct {
	Digest     string     `json:"digest"` // "" before the first good policy
	Valid      bool       `json:"valid"`  // the file as it is now is in force
	LoadedAt   *time.Time `json:"loadedAt,omitempty"`
	AgeSeconds *int64     `json:"ageSeconds,omitempty"`
	LastError  *refusal   `json:"lastError,omitempty"`

	Enabled       bool              `json:"enabled"`
	Header        string            `json:"header"`
	HeaderValues  map[string]string `json:"headerValues,omitempty"`
	AcceptHeaders []string          `json:"acceptHeaders,omitempty"`
	Trust         []string          `json:"trust"`     // networks whose callers are believed
	Untrusted     []string          `json:"untrusted"` // and those inside of them that are not
	Decide        string            `json:"decide"`
	Rules         []ruleView        `json:"rules"`
	Services      []serviceView     `json:"services"`
	Routes        []routeView       `json:"routes"` // the longest path first
}

// newPolicyView has no nil list: JSON shows empty ones.
func newPolicyView() policyView {
	return policyView{
		Trust: []string{}, Untrusted: []string{},
		Rules: []ruleView{}, Services: []serviceView{}, Routes: []routeView{},
	}
}

func (v *policyView) show(p *policy.Policy, now time.Time) {
	v.Digest, v.Enabled, v.Header = p.Digest, p.Enabled, p.Header
	v.HeaderValues, v.AcceptHeaders = p.HeaderValues, p.AcceptHeaders
	trust, untrusted := p.Trust()
	v.Trust, v.Untrusted = texts(trust), texts(untrusted)
	v.Decide = "entry"
	if p.FirstMatch {
		v.Decide = "first-match"
	}
	for _, r := range p.Rules {
		v.Rules = append(v.Rules, ruleView{r.Name, r.Tag, p.Takes(r), p.Share(r, now), r.Salt})
	}
	for _, s := range p.Services {
		v.Services = append(v.Services, viewService(p, s))
	}
	for _, r := range p.Routes {
		v.Routes = append(v.Routes, routeView{r.String(), r.Service.Name, r.Strip, viewCors(r.Cors)})
	}
}

type ruleView struct {
	Name  string `json:"name"`
	Tag   string `json:"tag"`             // "" where a split gives several
	Takes string `json:"takes"`           // what it matches, for people
	Share string `json:"share,omitempty"` // how many of them it takes now; "": all
	Salt  string `json:"salt,omitempty"`  // "": the name
}

type routeView struct {
	Path        string    `json:"path"`
	Service     string    `json:"service"`
	StripPrefix int       `json:"stripPrefix"`
	Cors        *corsView `json:"cors,omitempty"`
}

type corsView struct {
	AllowOrigins     []string `json:"allowOrigins"`
	AllowMethods     []string `json:"allowMethods"`
	AllowHeaders     []string `json:"allowHeaders"`
	AllowCredentials bool     `json:"allowCredentials"`
	MaxAge           string   `json:"maxAge,omitempty"`
}

func viewCors(c *policy.Cors) *corsView {
	if c == nil {
		return nil
	}
	anything := []string{"*"}
	view := &corsView{AllowOrigins: anything, AllowMethods: anything, AllowHeaders: anything, AllowCredentials: c.Credentials}
	if c.Origins != nil {
		view.AllowOrigins = c.Origins
	}
	if c.Methods != nil {
		view.AllowMethods = c.Methods
	}
	if !c.AnyHeader {
		view.AllowHeaders = append([]string{}, c.Headers...)
	}
	if c.MaxAge >= 0 {
		view.MaxAge = (time.Duration(c.MaxAge) * time.Second).String()
	}
	return view
}

// texts shows values as they are written.
func texts[T fmt.Stringer](values []T) []string {
	list := make([]string, len(values))
	for i, v := range values {
		list[i] = v.String()
	}
	return list
}
