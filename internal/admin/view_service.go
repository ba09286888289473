package admin

import (
	"time"

	"graylane/pkg/policy"
)

// serviceView is a service of the policy. Without versions nothing says how it is
// served: that is not up to us.
type serviceView struct {
	Name        string        `json:"name"`
	Hosts       []string      `json:"hosts"`
	Edge        bool          `json:"edge"`
	Fallback    string        `json:"fallback"`
	Guard       string        `json:"guard"`
	GuardExcept *exceptView   `json:"guardExcept,omitempty"`
	Balance     *balanceView  `json:"balance,omitempty"`
	Health      *healthView   `json:"health,omitempty"`
	Limit       *limitView    `json:"limit,omitempty"`
	Timeouts    *timeoutsView `json:"timeouts,omitempty"`
	Retry       *retryView    `json:"retry,omitempty"`
	Versions    []versionView `json:"versions"`
}

type exceptView struct {
	Paths     []string `json:"paths"`
	SourceIPs []string `json:"sourceIPs"`
}

type balanceView struct {
	Type      string    `json:"type"`
	Size      int       `json:"size,omitempty"` // of burst
	By        string    `json:"by,omitempty"`   // of hash, for people
	ZoneFirst *zoneView `json:"zoneFirst,omitempty"`
}

type zoneView struct {
	Share float64 `json:"share"`
}

type healthView struct {
	Type           string `json:"type"`
	Path           string `json:"path,omitempty"`
	Expect         []int  `json:"expect,omitempty"`
	Service        string `json:"service,omitempty"`
	Interval       string `json:"interval"`
	Timeout        string `json:"timeout"`
	HealthyAfter   int    `json:"healthyAfter"`
	UnhealthyAfter int    `json:"unhealthyAfter"`
}

type limitView struct {
	Requests int    `json:"requests"` // 0: no limit
	Wait     string `json:"wait"`
}

type timeoutsView struct {
	Connect string `json:"connect"`
	Header  string `json:"header"` // 0s: no limit
	Idle    string `json:"idle"`   // 0s: no limit
}

type retryView struct {
	Attempts int `json:"attempts"`
}

// versionView has one of the four ways to say where a version is.
type versionView struct {
	Tag       string       `json:"tag"`
	Protocol  string       `json:"protocol"`
	Endpoints []targetView `json:"endpoints,omitzero"`
	DNS       string       `json:"dns,omitempty"`
	DNSSRV    string       `json:"dnsSRV,omitempty"`
	File      *fileView    `json:"file,omitempty"`
}

type targetView struct {
	Address  string `json:"address"`
	Weight   int    `json:"weight"`
	Zone     string `json:"zone,omitempty"`
	Protocol string `json:"protocol"`
}

type fileView struct {
	Path   string            `json:"path"`
	Labels map[string]string `json:"labels,omitempty"`
}

func viewService(p *policy.Policy, s *policy.Service) serviceView {
	view := serviceView{
		Name: s.Name, Edge: s.Edge, Fallback: policy.Base, Guard: s.Guard.Action,
		Hosts:    append([]string{}, s.Hosts...), // not nil: JSON shows an empty list
		Versions: []versionView{},
	}
	if !s.Fallback {
		view.Fallback = "none"
	}
	if paths, peers := s.Guard.Except(); len(paths)+len(peers) > 0 {
		view.GuardExcept = &exceptView{append([]string{}, paths...), texts(peers)}
	}
	for _, v := range s.Versions {
		view.Versions = append(view.Versions, viewVersion(v))
	}
	if len(s.Versions) == 0 {
		return view
	}
	view.Balance, view.Health = viewBalance(p, s), viewHealth(s.Health)
	view.Limit = &limitView{s.Limit.Requests, s.Limit.Wait.String()}
	view.Timeouts = &timeoutsView{limitText(s.Timeouts.Connect), limitText(s.Timeouts.Header), limitText(s.Timeouts.Idle)}
	view.Retry = &retryView{s.Retries}
	return view
}

func viewBalance(p *policy.Policy, s *policy.Service) *balanceView {
	view := &balanceView{Type: s.Balance.Type, By: p.BalanceKey(s)}
	if s.Balance.Type == "burst" {
		view.Size = s.Balance.Size
	}
	if s.Balance.NearShare > 0 {
		view.ZoneFirst = &zoneView{s.Balance.NearShare}
	}
	return view
}

func viewHealth(h *policy.Health) *healthView {
	if h == nil {
		return nil
	}
	view := &healthView{
		Type: h.Type, Service: h.Service, Interval: h.Interval.String(), Timeout: h.Timeout.String(),
		HealthyAfter: h.HealthyAfter, UnhealthyAfter: h.UnhealthyAfter,
	}
	if h.Type == "http" {
		view.Path, view.Expect = h.Path, h.Expect
	}
	return view
}

func viewVersion(v *policy.Version) versionView {
	view := versionView{Tag: v.Tag, Protocol: v.Protocol, DNS: v.Source.DNS, DNSSRV: v.Source.SRV}
	switch {
	case v.Source.File != "":
		view.File = &fileView{v.Source.File, v.Source.Labels}
	case v.Source.IsZero():
		view.Endpoints = []targetView{}
	}
	for _, t := range v.Endpoints {
		view.Endpoints = append(view.Endpoints, targetView(t))
	}
	return view
}

// limitText writes a limit in time as a policy does: one below 0 is none, which is 0s there.
func limitText(d time.Duration) string { return max(d, 0).String() }
