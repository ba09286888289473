package admin

import (
	"encoding/json"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"graylane/pkg/policy"
)

// Reloads remembers what came of reading the policy file. The zero value has seen
// nothing yet. Its methods may be called at once from many goroutines.
type Reloads struct {
	mu      sync.Mutex
	good    time.Time // when the policy in force was loaded
	refused *refusal  // nil while the file as it is now is in force
}

// refusal is new contents of the policy file that are not in force.
type refusal struct {
	At     time.Time `json:"at"`
	Faults []string  `json:"faults"` // at least one
}

// Good says that the policy file as it is now is in force.
func (r *Reloads) Good(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.good, r.refused = now, nil
}

// Bad says that the policy file as it is now was refused, and why: policy.Faults,
// or whatever else went wrong, each line of it a fault.
func (r *Reloads) Bad(now time.Time, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refused = &refusal{At: now, Faults: strings.Split(err.Error(), "\n")}
}

func (r *Reloads) last() (good time.Time, refused *refusal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.good, r.refused
}

// policyView is the reply of /policy.
type policyView struct {
	Digest     string        `json:"digest"` // "" before the first good policy
	Valid      bool          `json:"valid"`  // the file as it is now is in force
	LoadedAt   *time.Time    `json:"loadedAt,omitempty"`
	AgeSeconds *int64        `json:"ageSeconds,omitempty"`
	LastError  *refusal      `json:"lastError,omitempty"`
	Enabled    bool          `json:"enabled"`
	Header     string        `json:"header"`
	Trust      []string      `json:"trust"`     // networks whose callers are believed
	Untrusted  []string      `json:"untrusted"` // and those inside of them that are not
	Services   []serviceView `json:"services"`
	Rules      []ruleView    `json:"rules"`
}

type serviceView struct {
	Name     string        `json:"name"`
	Hosts    []string      `json:"hosts"`
	Edge     bool          `json:"edge"`
	Fallback bool          `json:"fallback"`
	Versions []versionView `json:"versions"`
}

type versionView struct {
	Tag       string       `json:"tag"`
	Endpoints []targetView `json:"endpoints"`
}

type targetView struct {
	Address  string `json:"address"`
	Weight   int    `json:"weight"`
	Zone     string `json:"zone,omitempty"`
	Protocol string `json:"protocol"`
}

type ruleView struct {
	Name  string `json:"name"`
	Tag   string `json:"tag"`             // "" where a split gives several
	Takes string `json:"takes"`           // what it matches, for people
	Share string `json:"share,omitempty"` // how many of them it takes now; "": all
}

func (o *Options) policy() http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		good, refused := o.Reloads.last()
		view := policyView{
			LastError: refused,
			Trust:     []string{}, // not nil: JSON shows empty lists
			Untrusted: []string{},
			Services:  []serviceView{},
			Rules:     []ruleView{},
		}
		if p := o.Store.Load(); p != nil {
			view.show(p, o.Now())
			view.Valid = refused == nil
		}
		if !good.IsZero() {
			age := int64(o.Now().Sub(good).Seconds())
			view.LoadedAt, view.AgeSeconds = &good, &age
		}
		writeJSON(w, view)
	}
}

func (v *policyView) show(p *policy.Policy, now time.Time) {
	v.Digest, v.Enabled, v.Header = p.Digest, p.Enabled, p.Header
	trust, untrusted := p.Trust()
	v.Trust, v.Untrusted = texts(trust), texts(untrusted)
	for _, s := range p.Services {
		v.Services = append(v.Services, viewService(s))
	}
	for _, r := range p.Rules {
		v.Rules = append(v.Rules, ruleView{r.Name, r.Tag, p.Takes(r), p.Share(r, now)})
	}
}

func texts(nets []netip.Prefix) []string {
	list := make([]string, len(nets))
	for i, net := range nets {
		list[i] = net.String()
	}
	return list
}

func viewService(s *policy.Service) serviceView {
	view := serviceView{
		Name: s.Name, Edge: s.Edge, Fallback: s.Fallback,
		Hosts:    append([]string{}, s.Hosts...),
		Versions: []versionView{},
	}
	for _, v := range s.Versions {
		version := versionView{Tag: v.Tag, Endpoints: []targetView{}}
		for _, t := range v.Endpoints {
			version.Endpoints = append(version.Endpoints, targetView(t))
		}
		view.Versions = append(view.Versions, version)
	}
	return view
}

func writeJSON(w http.ResponseWriter, v any) {
	body, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		answer(w, http.StatusInternalServerError, "cannot show this as JSON: "+err.Error())
		return
	}
	w.Header().Set("Content-Type", "application/json")
	// A caller that has gone is none of our business.
	_, _ = w.Write(append(body, '\n'))
}
