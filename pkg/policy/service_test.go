package policy

import "testing"

// backend is a version's state: how many endpoints, how many usable.
type backend struct{ total, usable int }

func (b backend) Counts() (total, usable int) { return b.total, b.usable }

func TestDecideByWhatIsThere(t *testing.T) {
	up, sick, empty := &backend{2, 1}, &backend{2, 0}, &backend{0, 0}
	for _, test := range []struct {
		name       string
		tag        string
		base, gray *backend // nil: the service has no such version
		none       bool     // fallback: none
		version    string   // "": no version serves it
		reason     Reason
	}{
		{"gray is served by gray", "gray", up, up, false, "gray", Matched},
		{"base is served by base", "base", up, up, false, "base", Matched},
		{"gray falls to base where there is no gray version", "gray", up, nil, false, "base", NoVersion},
		{"gray falls to base where gray has no endpoint", "gray", up, empty, false, "base", NoEndpoint},
		{"gray falls to base where no gray endpoint is healthy", "gray", up, sick, false, "base", NoneHealthy},
		{"an unknown tag falls to base", "blue", up, up, false, "base", NoVersion},
		{"an unknown tag never goes to gray", "blue", sick, up, false, "", Unavailable},
		{"base never goes to gray when it has no endpoint", "base", empty, up, false, "", Unavailable},
		{"base never goes to gray when it is sick", "base", sick, up, false, "", Unavailable},
		{"base never goes to gray when it is not there", "base", nil, up, false, "", Unavailable},
		{"gray is served though base is down", "gray", sick, up, false, "gray", Matched},
		{"gray is served though base is not there", "gray", nil, up, false, "gray", Matched},
		{"nothing is left", "gray", sick, sick, false, "", Unavailable},
		{"fallback none: no gray version", "gray", up, nil, true, "", Unavailable},
		{"fallback none: gray is sick", "gray", up, sick, true, "", Unavailable},
		{"fallback none: gray is there", "gray", up, up, true, "gray", Matched},
		{"fallback none: base is served", "base", up, nil, true, "base", Matched},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := service(test.base, test.gray, test.none).Decide(test.tag)
			if got := tagOf(d.Version); got != test.version || d.Reason != test.reason {
				t.Errorf("version %q, %v, want %q, %v", got, d.Reason, test.version, test.reason)
			}
		})
	}
}

func TestFallWhenAllRefused(t *testing.T) {
	up, sick := &backend{2, 2}, &backend{2, 0}
	for _, test := range []struct {
		name    string
		tag     string
		base    *backend
		none    bool
		version string
		reason  Reason
	}{
		{"gray goes to base", "gray", up, false, "base", AllRefused},
		{"gray goes nowhere with fallback none", "gray", up, true, "", Unavailable},
		{"gray goes nowhere when base is sick", "gray", sick, false, "", Unavailable},
		{"gray goes nowhere when base is not there", "gray", nil, false, "", Unavailable},
		{"base goes nowhere", "base", up, false, "", Unavailable},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := service(test.base, up, test.none).Fall(test.tag)
			if got := tagOf(d.Version); got != test.version || d.Reason != test.reason {
				t.Errorf("version %q, %v, want %q, %v", got, d.Reason, test.version, test.reason)
			}
		})
	}
}

func TestAServiceWithoutVersionsIsPassedThrough(t *testing.T) {
	p := mustParse(t, "services: [{name: mail, hosts: [mail.shop]}]")
	d := p.ServiceFor([]byte("mail.shop:25")).Decide("gray")
	if d.Version != nil || d.Reason != PassThrough {
		t.Errorf("version %v, %v, want none, pass_through", d.Version, d.Reason)
	}
}

func TestEndpointsCountAsUsableWithoutABackend(t *testing.T) {
	p := mustParse(t, `services: [{name: s, versions: [{tag: base, endpoints: ["a:1"]}, {tag: gray, endpoints: []}]}]`)
	s := p.ServiceNamed("s")
	if d := s.Decide("gray"); tagOf(d.Version) != "base" || d.Reason != NoEndpoint {
		t.Errorf("version %q, %v, want base, no_endpoint", tagOf(d.Version), d.Reason)
	}
	if d := s.Decide("base"); tagOf(d.Version) != "base" || d.Reason != Matched {
		t.Errorf("version %q, %v, want base, matched", tagOf(d.Version), d.Reason)
	}
}

func TestOnlyFallbackReasonsAreFallbacks(t *testing.T) {
	want := map[Reason]bool{NoVersion: true, NoEndpoint: true, NoneHealthy: true, AllRefused: true}
	for r := Matched; r <= Local; r++ {
		if r.Fallback() != want[r] {
			t.Errorf("%v is a fallback: %v, want %v", r, r.Fallback(), want[r])
		}
	}
}

func service(base, gray *backend, none bool) *Service {
	s := &Service{Name: "users", Fallback: !none}
	if base != nil {
		s.base = &Version{Service: s, Tag: Base, Backend: base}
		s.Versions = append(s.Versions, s.base)
	}
	if gray != nil {
		s.Versions = append(s.Versions, &Version{Service: s, Tag: Gray, Backend: gray})
	}
	return s
}

func tagOf(v *Version) string {
	if v == nil {
		return ""
	}
	return v.Tag
}
